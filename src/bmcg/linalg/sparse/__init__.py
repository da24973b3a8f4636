"""Sparse Cholesky factors and selected inverses, on the host alone."""
