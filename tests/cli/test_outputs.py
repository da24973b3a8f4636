"""No output takes the place of what a command reads, or of another output."""

from __future__ import annotations

import shutil

import pytest

from .conftest import COLUMNS, refused

# Commands that read more than one file, as `given`, and each option that names one; what is
# written has the name of that file.
READ = [
    (("fit", "given.csv", *COLUMNS, "-o"), ("--row-graph", "--row-features", "--col-exposure")),
    (
        ("update", "m.safetensors", "given.csv", "--data", "ratings.csv", *COLUMNS, "-o"),
        ("--data", "--col-edges"),
    ),
    (("fold-in", "m.safetensors", "given.csv", *COLUMNS, "--matrix"), ("--row-edges",)),
    (("predict", "m.safetensors", "given.csv", "-o"), ()),
    (("recommend", "m.safetensors", "--all", "-o"), ("--candidates", "--exclude")),
    (("similar", "m.safetensors", "-o"), ("--cols", "--candidates")),
    (("evaluate", "given.csv", *COLUMNS, "-o"), ("--row-graph", "--col-features")),
    (("impute", "given.csv", "-o"), ("--row-graph",)),
    (("impute", "given.vcf", "-o"), ("--panel",)),
    (("inpaint", "given.png", "-o"), ("--mask",)),
]
CASES = [
    pytest.param(command, option, id=f"{command[0]} {option or 'itself'}")
    for command, options in READ
    for option in ("", *options)
    if option or any(part.startswith("given.") for part in command)
]


@pytest.mark.parametrize(("command", "option"), CASES)
def test_no_output_replaces_an_input(command, option, fitted, ratings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(fitted, "m.safetensors")
    suffix = next((part[-4:] for part in command if part.startswith("given.")), ".csv")
    kinds = {".csv": ratings.read_bytes(), ".vcf": b"##fileformat=VCFv4.2\n", ".png": b"\x89PNG"}
    for name in ("given", "other"):
        (tmp_path / f"{name}{suffix}").write_bytes(kinds[suffix])
    (tmp_path / "folder").mkdir()
    # The same file by another name for it.
    made = f"folder/../{'other' if option else 'given'}{suffix}"
    more = (option, f"other{suffix}") if option else ()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    message = refused(*command, made, *more, "--force")
    assert "it is one of the inputs" in message, message
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "command",
    [
        ("inpaint", "given.png", "-o", "a.png", "--std-map", "./a.png"),
        ("fold-in", "m.safetensors", "given.csv", "-o", "a.csv", "--matrix", "./a.csv"),
        ("impute", "given.csv", "-o", "a.csv", "--std", "./a.csv"),
        ("fit", "given.csv", *COLUMNS, "-o", "a.ckpt", "--checkpoint", "./a.ckpt"),
    ],
    ids=lambda command: command[0],
)
def test_two_outputs_are_two_files(command, fitted, ratings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(fitted, "m.safetensors")
    shutil.copy(ratings, "given.csv")
    (tmp_path / "given.png").write_bytes(b"\x89PNG")
    message = refused(*command)
    assert any(words in message for words in ("two names", "name of its own", "is the output"))
