"""Genotypes along a chromosome, beside Beagle."""
