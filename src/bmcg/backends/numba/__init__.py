"""Compiled loops on the cores of one machine; threads and chunks are nobody else's business."""
