"""Commands that are killed, that meet a full disk, and that run out of memory."""
