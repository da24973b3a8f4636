"""What is left is the least of what the machine, the limits and the groups leave."""

from __future__ import annotations

import os
import resource

import pytest

from bmcg.memory import here
from bmcg.memory.here import VARIABLE, left

GIB = 2**30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of files: 4 GiB free and 1 of swap, no limit, a process of 1,000 pages."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    groups.mkdir()
    kib = GIB // 1024
    (proc / "meminfo").write_text(
        f"MemFree: 1 kB\nMemAvailable: {4 * kib} kB\nSwapFree: {kib} kB\n"
    )
    (proc / "self" / "statm").write_text("1000 500 1 1 0 800 0")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(here, "_PROC", proc)
    monkeypatch.setattr(here, "_GROUPS", groups)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    return proc, groups


def test_free_memory_and_swap_are_what_a_machine_has(machine):
    found = left()
    assert found.bytes == 5 * GIB
    assert "this machine" in found.of


@pytest.mark.parametrize(
    ("name", "pages", "words"),
    [("RLIMIT_AS", 1000, "ulimit -v"), ("RLIMIT_DATA", 800, "ulimit -d")],
)
def test_a_limit_of_the_process_leaves_what_it_does_not_hold(
    machine, monkeypatch, name, pages, words
):
    limits = {getattr(resource, name): (GIB, GIB)}
    none = (resource.RLIM_INFINITY,) * 2
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits.get(which, none))
    found = left()
    assert found.bytes == GIB - pages * os.sysconf("SC_PAGE_SIZE")
    assert words in found.of


def test_a_group_above_the_own_one_counts_and_cached_files_do_not(machine):
    proc, groups = machine
    (proc / "self" / "cgroup").write_text("0::/batch/job\n")
    (groups / "batch" / "job").mkdir(parents=True)
    for folder, limit in ((groups / "batch", str(2 * GIB)), (groups / "batch" / "job", "max")):
        (folder / "memory.max").write_text(limit + "\n")
        (folder / "memory.current").write_text(f"{GIB}\n")
        (folder / "memory.stat").write_text(f"anon 5\ninactive_file {GIB // 4}\n")
    found = left()
    assert found.bytes == 2 * GIB - GIB + GIB // 4
    assert "control group" in found.of


def test_groups_of_the_first_kind_are_read_too(machine):
    proc, groups = machine
    (proc / "self" / "cgroup").write_text("5:cpu:/x\n4:memory:/job\n")
    folder = groups / "memory" / "job"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text(f"{GIB}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{GIB // 2}\n")
    (folder / "memory.stat").write_text("total_inactive_file 0\n")
    assert left().bytes == GIB // 2


def test_a_variable_takes_the_place_of_all(machine, monkeypatch):
    monkeypatch.setenv(VARIABLE, "100")
    assert left().bytes == 100 * GIB - 500 * os.sysconf("SC_PAGE_SIZE")
    for wrong in ("much", "-1", "nan"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(ValueError, match=f"{VARIABLE}={wrong}: pass gigabytes"):
            left()


def test_where_nothing_is_known_nothing_is_refused(machine, monkeypatch, tmp_path):
    monkeypatch.setattr(here, "_PROC", tmp_path / "no such folder")
    assert left().bytes == float("inf")
