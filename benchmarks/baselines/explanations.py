"""Measurements that explain figures which the methods miss."""

from __future__ import annotations

from benchmarks.baselines.rows import Anchor

# Title: (what is behind it, the measurements that show it).
NOTES: dict[str, tuple[str, list[Anchor]]] = {}

EXPLANATIONS = [anchor for _, anchors in NOTES.values() for anchor in anchors]
