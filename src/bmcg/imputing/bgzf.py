"""Blocked gzip, as the tools for genomes index it: a series of small gzip members."""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO, Self

# The size field of a block has 16 bits, the compressed data may outgrow the plain.
BLOCK = 0xFF00
END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


class BgzfWriter:
    """A file to write bytes to; closing it appends the mark of a complete file."""

    def __init__(self, path: str) -> None:
        self.file: BinaryIO = open(path, "wb")  # noqa: SIM115
        self.buffer = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._flush()
            self.file.write(END)
        self.file.close()

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self.buffer += data
        while len(self.buffer) >= BLOCK:
            self._block(bytes(self.buffer[:BLOCK]))
            del self.buffer[:BLOCK]

    def _flush(self) -> None:
        if self.buffer:
            self._block(bytes(self.buffer))
            self.buffer.clear()

    def _block(self, data: bytes) -> None:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(data) + packer.flush()
        # 18 bytes of header and 8 of trailer; the field holds the size minus one.
        size = struct.pack("<H", len(packed) + 25)
        head = bytes.fromhex("1f8b08040000000000ff060042430200") + size
        self.file.write(head + packed + struct.pack("<II", zlib.crc32(data), len(data)))
