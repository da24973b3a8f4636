"""Blocks of compressed text as the tools for genomes jump over them: by the sizes they tell."""

from __future__ import annotations

import gzip
import struct
import zlib

import numpy as np
import pytest

from bmcg.imputing.bgzf import BLOCK, END, BgzfWriter


def blocks(data):
    """Contents of the blocks, found by their sizes alone."""
    found, at = [], 0
    while at < len(data):
        assert data[at : at + 4] == b"\x1f\x8b\x08\x04"
        assert data[at + 12 : at + 14] == b"BC"
        size = struct.unpack("<H", data[at + 16 : at + 18])[0] + 1
        content = zlib.decompress(data[at + 18 : at + size - 8], -15)
        check, length = struct.unpack("<II", data[at + size - 8 : at + size])
        assert (check, length) == (zlib.crc32(content), len(content))
        found.append(content)
        at += size
    assert at == len(data)
    return found


@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
@pytest.mark.parametrize("kind", ["text", "noise"])
def test_sizes_lead_from_block_to_block(tmp_path, n, kind):
    rng, path = np.random.default_rng(n), tmp_path / "x.gz"
    data = rng.integers(0, 2 if kind == "text" else 256, n, dtype=np.uint8).tobytes()
    with BgzfWriter(str(path)) as file:
        for start in range(0, n, 50_000):
            file.write(data[start : start + 50_000])
    written = path.read_bytes()
    assert gzip.decompress(written) == data
    assert written.endswith(END)
    *parts, last = blocks(written)
    assert b"".join(parts) == data
    assert last == b""
    assert all(0 < len(part) <= BLOCK for part in parts)
