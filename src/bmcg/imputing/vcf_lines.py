"""Lines of VCF text from and to .vcf, .vcf.gz and .bcf files."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from .bgzf import BgzfWriter

GZIP_MAGIC = b"\x1f\x8b"
BCF_MAGIC = b"BCF"


def lines_of(path: Path) -> Iterator[bytes]:
    """Lines of a VCF or BCF file, as VCF text without line ends.

    What a file is, its first bytes say: a compressed file may be called .vcf, and a plain one
    .vcf.gz.
    """
    plain = plain_lines(path)
    first = next(plain, b"")
    yield from _bcf_lines(path) if first.startswith(BCF_MAGIC) else chain((first,), plain)


def plain_lines(path: Path) -> Iterator[bytes]:
    """Lines of a text file, compressed or not, without line ends."""
    with open(path, "rb") as file:
        packed = file.read(2) == GZIP_MAGIC
    opened: Any = gzip.open if packed else open
    try:
        with opened(path, "rb") as file:
            for line in file:
                yield line.rstrip(b"\r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a complete compressed file: {error}") from None


def _bcf_lines(path: Path) -> Iterator[bytes]:
    reader = _cyvcf2(path).VCF(str(path))
    yield from reader.raw_header.rstrip("\n").encode("utf-8", "surrogateescape").split(b"\n")
    for record in reader:
        yield str(record).rstrip("\n").encode("utf-8", "surrogateescape")


def write_lines(temporary: str, path: Path, lines: Iterator[bytes]) -> None:
    """Write VCF text in the format that the name of `path` asks for."""
    suffix = path.suffix.lower()
    if suffix == ".bcf":
        _write_bcf(temporary, path, lines)
    elif suffix in (".gz", ".bgz"):
        with BgzfWriter(temporary) as packed:
            for line in lines:
                packed.write(line + b"\n")
    else:
        with open(temporary, "wb") as file:
            file.writelines(line + b"\n" for line in lines)


def _write_bcf(temporary: str, path: Path, lines: Iterator[bytes]) -> None:
    header: list[str] = []
    writer: Any = None
    for data in lines:
        line = data.decode("utf-8", "surrogateescape")
        if line.startswith("#"):
            header.append(line)
            continue
        if writer is None:
            text = "\n".join(header) + "\n"
            writer = _cyvcf2(path).Writer.from_string(temporary, text, mode="wb")
            writer.write_header()
        writer.write_record(writer.variant_from_string(line))
    if writer is not None:
        writer.close()


def _cyvcf2(path: Path) -> Any:
    try:
        import cyvcf2
    except ImportError:
        raise ImportError(
            f"{path}: BCF needs cyvcf2: pip install 'bmcg[genetics]', or use .vcf.gz"
        ) from None
    return cyvcf2
