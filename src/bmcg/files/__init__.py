"""Files that outlive a process: models and checkpoints, written whole or not at all."""
