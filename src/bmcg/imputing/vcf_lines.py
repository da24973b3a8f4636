"""Lines of VCF text from and to .vcf, .vcf.gz and .bcf files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .bgzf import BgzfWriter


def lines_of(path: Path) -> Iterator[str]:
    """Lines of a VCF or BCF file, as VCF text without line ends."""
    if path.suffix.lower() == ".bcf":
        reader = _cyvcf2(path).VCF(str(path))
        yield from reader.raw_header.rstrip("\n").split("\n")
        yield from (str(record).rstrip("\n") for record in reader)
        return
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path} is not a complete compressed file: {error}") from None


def write_lines(temporary: str, path: Path, lines: Iterator[str]) -> None:
    """Write VCF text in the format that the name of `path` asks for."""
    suffix = path.suffix.lower()
    if suffix == ".bcf":
        _write_bcf(temporary, path, lines)
        return
    encoded = (f"{line}\n".encode("utf-8", "surrogateescape") for line in lines)
    if suffix == ".gz":
        with BgzfWriter(temporary) as packed:
            for data in encoded:
                packed.write(data)
        return
    with open(temporary, "wb") as file:
        file.writelines(encoded)


def _write_bcf(temporary: str, path: Path, lines: Iterator[str]) -> None:
    header: list[str] = []
    writer: Any = None
    for line in lines:
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
