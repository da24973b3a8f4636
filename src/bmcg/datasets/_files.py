"""Find the publishers' files: in a folder that is named, or in a cache that can be filled."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pooch

ENVIRONMENT_VARIABLE = "BMCG_DATA"
TIMEOUT_SECONDS = 30.0


class DatasetUnavailableError(FileNotFoundError):
    """A file of a data set is not there and could not be fetched."""


class DatasetFormatError(ValueError):
    """A file of a data set is not what its publisher ships: truncated, altered or another file."""


@dataclass(frozen=True)
class Source:
    """Where the files of a data set come from.

    Attributes
    ----------
    title : str
    publisher : str
        Where a person finds them.
    url : str or None
        Address to download from; None where no lasting one is known.
    checksum : str or None
        ``algorithm:digest`` of what the address serves.
    archive : bool
        Whether the address serves a zip whose paths are those below the data folder.
    """

    title: str
    publisher: str
    url: str | None = None
    checksum: str | None = None
    archive: bool = False


def locate(
    source: Source, files: tuple[str, ...], data_dir: str | os.PathLike[str] | None = None
) -> tuple[Path, ...]:
    """Paths of a data set's files.

    A folder that is named, by the argument or by the environment variable ``BMCG_DATA``, is only
    read. Without one, files live in a cache folder and are downloaded into it when missing.

    Parameters
    ----------
    source : Source
    files : tuple of str
        Paths below the data folder, with forward slashes.
    data_dir : path, optional

    Returns
    -------
    tuple of Path
    """
    root, named_by = _root(data_dir)
    paths = tuple(root / name for name in files)
    if all(path.is_file() for path in paths):
        return paths
    trouble = None
    if named_by is None and source.url is not None:
        trouble = _fetch(source, files, root)
        if all(path.is_file() for path in paths):
            return paths
    missing = [path for path in paths if not path.is_file()]
    raise DatasetUnavailableError(_how_to_get(source, missing, named_by, trouble))


def _root(data_dir: str | os.PathLike[str] | None) -> tuple[Path, str | None]:
    """The data folder and what named it (None for the cache)."""
    if data_dir is not None:
        named_by, root = "data_dir", Path(data_dir).expanduser()
    elif os.environ.get(ENVIRONMENT_VARIABLE):
        named_by = ENVIRONMENT_VARIABLE
        root = Path(os.environ[ENVIRONMENT_VARIABLE]).expanduser()
    else:
        return Path(pooch.os_cache("bmcg")), None
    if not root.is_dir():
        raise DatasetUnavailableError(f"{named_by}: {root} is not a folder")
    return root, named_by


def _fetch(source: Source, files: tuple[str, ...], root: Path) -> Exception | None:
    """Download into the cache; the error that stopped it, if one did."""
    assert source.url is not None
    target = root / "downloads" / Path(source.url).name if source.archive else root / files[0]
    try:
        pooch.retrieve(
            source.url,
            known_hash=source.checksum,
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS),
        )
        if source.archive:
            _unpack(target, root)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        return error
    return None


def _unpack(archive: Path, root: Path) -> None:
    """Write the archive's files that are not there yet, each complete or not at all."""
    with zipfile.ZipFile(archive) as bundle:
        for member in bundle.infolist():
            inside = PurePosixPath(member.filename)
            target = root.joinpath(*inside.parts)
            if member.is_dir() or target.exists():
                continue
            if inside.is_absolute() or ".." in inside.parts:
                raise ValueError(f"{archive}: refusing to write outside the folder: {inside}")
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f"{target.name}.{os.getpid()}.part")
            partial.write_bytes(bundle.read(member))
            os.replace(partial, target)


def _how_to_get(
    source: Source, missing: list[Path], named_by: str | None, trouble: Exception | None
) -> str:
    lines = [f"{source.title}: {len(missing)} file(s) missing. Put"]
    lines += [f"  {path}" for path in missing]
    lines.append(f"from {source.publisher}" + (f" ({source.url})." if source.url else "."))
    if trouble is not None:
        lines.append(f"The download failed: {trouble}")
    if named_by is not None and source.url is not None:
        other = "leave data_dir out and unset BMCG_DATA"
        lines.append(f"Or {other}, and the files are downloaded into a cache.")
    elif named_by is None:
        lines.append(f"A folder of your own: data_dir=..., or {ENVIRONMENT_VARIABLE}=... .")
    return "\n".join(lines)
