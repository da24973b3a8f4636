from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest

from bmcg.datasets import DatasetUnavailableError, _files, load_chr22, load_movielens_100k
from bmcg.datasets._files import Source, locate


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("BMCG_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "bmcg"


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address of a local server for it."""
    folder = tmp_path / "published"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def archive(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for name, text in members.items():
            bundle.writestr(name, text)
    return buffer.getvalue()


def served(publisher: tuple[Path, str], name: str, content: bytes, **changes: object) -> Source:
    folder, address = publisher
    (folder / name).write_bytes(content)
    checksum = "sha256:" + hashlib.sha256(content).hexdigest()
    return replace(Source("Toy", "a test", f"{address}/{name}", checksum), **changes)


def test_the_argument_goes_before_the_environment(tmp_path, monkeypatch) -> None:
    for name in ("named", "environment"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    monkeypatch.setenv("BMCG_DATA", str(tmp_path / "environment"))
    source = Source("Toy", "a test")
    assert locate(source, ("x",))[0].read_text() == "environment"
    assert locate(source, ("x",), tmp_path / "named")[0].read_text() == "named"


def test_a_missing_file_is_downloaded_once_into_the_cache(cache, publisher) -> None:
    source = served(publisher, "a.mat", b"numbers")
    (path,) = locate(source, ("toy/a.mat",))
    assert path == cache / "toy" / "a.mat"
    assert path.read_bytes() == b"numbers"
    (publisher[0] / "a.mat").unlink()
    assert locate(source, ("toy/a.mat",)) == (path,)


def test_an_archive_is_unpacked_without_touching_files_already_there(cache, publisher) -> None:
    source = served(publisher, "t.zip", archive({"t/a": "new", "t/b": "new"}), archive=True)
    (cache / "t").mkdir(parents=True)
    (cache / "t" / "a").write_text("mine")
    a, b = locate(source, ("t/a", "t/b"))
    assert (a.read_text(), b.read_text()) == ("mine", "new")
    assert sorted(p.name for p in (cache / "t").iterdir()) == ["a", "b"]


def test_a_download_with_another_checksum_is_refused(cache, publisher) -> None:
    source = served(publisher, "a.mat", b"numbers", checksum="sha256:" + "0" * 64)
    with pytest.raises(DatasetUnavailableError, match=r"The download failed: .*hash"):
        locate(source, ("toy/a.mat",))
    assert not (cache / "toy" / "a.mat").exists()


def test_an_archive_cannot_write_outside_the_cache(cache, publisher) -> None:
    source = served(publisher, "t.zip", archive({"../escaped": "x"}), archive=True)
    with pytest.raises(DatasetUnavailableError, match="outside"):
        locate(source, ("t/a",))
    assert not (cache.parent / "escaped").exists()


def test_a_failed_download_says_which_file_to_put_where(cache, publisher) -> None:
    source = replace(served(publisher, "a", b""), url=f"{publisher[1]}/gone.mat")
    with pytest.raises(DatasetUnavailableError) as caught:
        locate(source, ("toy/a.mat",))
    message = str(caught.value)
    assert str(cache / "toy" / "a.mat") in message
    assert source.url in message
    assert "404" in message
    assert "BMCG_DATA" in message


def test_a_named_folder_is_never_written_to(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_files, "_fetch", lambda *_: pytest.fail("must not download"))
    with pytest.raises(DatasetUnavailableError) as caught:
        load_movielens_100k(data_dir=tmp_path)
    message = str(caught.value)
    assert str(tmp_path / "ml-100k" / "u1.base") in message
    assert "https://files.grouplens.org/datasets/movielens/ml-100k.zip" in message
    assert list(tmp_path.iterdir()) == []


def test_a_file_nobody_serves_is_asked_for(cache) -> None:
    with pytest.raises(DatasetUnavailableError) as caught:
        load_chr22()
    assert str(cache / "sparrec" / "chr22.mat") in str(caught.value)
    assert "SparRec" in str(caught.value)


def test_a_data_folder_that_does_not_exist_is_named(tmp_path, monkeypatch) -> None:
    with pytest.raises(DatasetUnavailableError, match=r"data_dir: .*nowhere is not a folder"):
        load_chr22(data_dir=tmp_path / "nowhere")
    monkeypatch.setenv("BMCG_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetUnavailableError, match=r"BMCG_DATA: .*nowhere is not a folder"):
        load_chr22()
