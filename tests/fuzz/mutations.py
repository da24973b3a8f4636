"""Bytes of a file changed a little: what bit rot, editors, strangers and other programs do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

# What has broken readers before: signs of every format, numbers at every limit.
WORDS = (
    "", "0", "-0", "-1", "1e308", "1e309", "-1e400", "1e-320", "nan", "NaN", "inf", "-inf",
    "NA", "null", "true", "yes", "9223372036854775807", "9223372036854775808", "2147483648",
    "0.1.2", "1,5", "1_000", "0x10", "1e", "١٢", "=1+1", '"', '""', '"a', "\t", ",", ";", "|",
    " ", "\n", "\r", "\r\n", "\n\n", "#", "##", "\x00", "\ufeff", "é", "\U0001f600", "a" * 300,
    "./.", ".", "0|1", "1/1/1", "0/2", ":", "..", "/", "../../x", "user", "item", "rating",
    "{", "}", "[", "]", "[[[[", ":1e999", '{"a":', "-", "+",
)  # fmt: skip
BYTES = (b"\xff\xfe", b"\xfe\xff", b"\xc3", b"\xff" * 8, b"\x00" * 8, b"\x7f" * 4, b"\x1f\x8b")
TOKENS: tuple[bytes, ...] = (*(word.encode() for word in WORDS), *BYTES)
SIGNS = ((b"\n", b"\r\n"), (b"\n", b"\r"), (b",", b";"), (b"\t", b" "), (b"\n", b""))
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


def _cut(data: bytes, r: Random) -> bytes:
    return data[: r.randrange(len(data) + 1)]


def _flip(data: bytes, r: Random) -> bytes:
    if not data:
        return data
    at = r.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << r.randrange(8))]) + data[at + 1 :]


def _byte(data: bytes, r: Random) -> bytes:
    if not data:
        return data
    at = r.randrange(len(data))
    return (
        data[:at] + bytes([r.choice((0, 1, 0x7F, 0x80, 0xFF, r.randrange(256)))]) + data[at + 1 :]
    )


def _delete(data: bytes, r: Random) -> bytes:
    at = r.randrange(len(data) + 1)
    return data[:at] + data[at + r.choice((1, 1, 2, 4, 16, 64)) :]


def _insert(data: bytes, r: Random) -> bytes:
    at = r.randrange(len(data) + 1)
    return data[:at] + r.choice(TOKENS) + data[at:]


def _again(data: bytes, r: Random) -> bytes:
    at = r.randrange(len(data) + 1)
    piece = data[at : at + r.choice((1, 4, 16, 64, 256))]
    return data[:at] + piece * r.choice((1, 2, 5)) + data[at:]


def _number(data: bytes, r: Random) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return _insert(data, r)
    one = r.choice(found)
    return data[: one.start()] + r.choice(TOKENS) + data[one.end() :]


def _cell(data: bytes, r: Random) -> bytes:
    parts = re.split(rb"([,\t\n:;|])", data)
    at = 2 * r.randrange((len(parts) + 1) // 2)
    parts[at] = r.choice((*TOKENS, r.choice(parts[::2])))
    return b"".join(parts)


def _lines(data: bytes, r: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return _again(data, r)
    at, to = r.randrange(len(lines)), r.randrange(len(lines))
    how = r.randrange(4)
    if how == 0:
        lines[at], lines[to] = lines[to], lines[at]
    elif how == 1:
        lines.insert(to, lines[at])
    elif how == 2:
        del lines[at]
    else:
        lines[at:to] = []
    return b"".join(lines)


def _breaks(data: bytes, r: Random) -> bytes:
    old, new = r.choice(
        ((b"\n", b"\r\n"), (b"\n", b"\r"), (b",", b";"), (b"\t", b" "), (b"\n", b""))
    )
    return data.replace(old, new)


BINARY: tuple[Callable[[bytes, Random], bytes], ...] = (
    _cut,
    _flip,
    _byte,
    _byte,
    _delete,
    _insert,
    _again,
)
TEXT = (
    _cut,
    _byte,
    _delete,
    _insert,
    _again,
    _number,
    _number,
    _cell,
    _cell,
    _cell,
    _lines,
    _breaks,
)


def mutated(data: bytes, r: Random, text: bool, others: Sequence[bytes] = ()) -> bytes:
    """A few changes, one after the other.

    Parameters
    ----------
    data : bytes
    r : Random
    text : bool
        Whether the format is one of lines and cells.
    others : sequence of bytes
        Further files of the format, whose ends may be joined to this one's beginning.
    """
    if others and r.random() < 0.05:
        other = r.choice(others)
        data = data[: r.randrange(len(data) + 1)] + other[r.randrange(len(other) + 1) :]
    for _ in range(r.choice((1, 1, 1, 2, 2, 3, 6))):
        data = r.choice(TEXT if text else BINARY)(data, r)
    return data
