"""Attacks: broken files and odd arguments, drawn at random, each with a verdict."""
