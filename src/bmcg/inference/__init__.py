"""Variational inference: moments, one update for each variable, the bound, the loop."""
