"""What a GPU does and takes: `python -m benchmarks.gpu`."""
