"""The few loops that cost time, on plain arrays, and their plain NumPy twins."""
