"""Linear algebra on graph-structured precisions."""
