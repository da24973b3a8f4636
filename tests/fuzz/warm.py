"""Imported by the process that attacked processes are forked from."""

from .readers import READERS

for reader in READERS.values():
    assert reader.seeds
