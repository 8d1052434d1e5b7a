"""`boostsample cache`: lists, removes and verifies feature banks."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from boostsample.banks.bank_forms import cached_bank
from boostsample.banks.cache_folder import banks_dir, building_in_cache
from boostsample.families import Columns
from tests.experiments.conftest import CommandLine

QUICK = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2", "--repeats", "1", "--quiet"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(n: int, name: str = "", used: int | None = None) -> str:
    X = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    folder = cached_bank([Columns([0], "left"), Columns([1], "right")], X, name=name).folder
    if used is not None:
        os.utime(folder / "header.json", (used, used))
    return folder.name


def test_an_empty_cache(cli: CommandLine) -> None:
    expected = f"0 feature banks, 0.00 MiB, in {banks_dir()}\n"
    assert cli("cache") == expected
    banks_dir().mkdir(parents=True)
    assert cli("cache") == expected
    assert cli("cache", "verify") == ""
    assert cli("cache", "clear", "--all") == "removed: 0 feature banks, 0.00 MiB\n"


def test_the_list_tells_what_the_banks_hold(cli: CommandLine) -> None:
    old, new = put(40, used=10**9), put(3000, "mine", used=10**9 + 10**6)
    header, first, second, total = cli("cache").splitlines()
    assert header.split("  ")[0] == "key"
    assert re.fullmatch(
        rf"{new[:12]}  mine  2 x 3,000 +0\.01 MiB  2001-09-\d\d \d\d:\d\d  left 1, right 1", first
    )
    assert re.fullmatch(rf"{old[:12]}  -     2 x 40 .* 2001-09-.*  left 1, right 1", second)
    assert total.startswith("2 feature banks, 0.01 MiB, in ")


def test_compare_fills_and_uses_it(cli: CommandLine) -> None:
    first = cli(*QUICK, "--bank", "disk", "--results", "one")
    assert "chess(d=3,J=3,L=3,n=60)  3 x 60 " in cli("cache")
    cli(*QUICK, "--bank", "disk", "--results", "two")
    assert "1 feature bank, " in cli("cache")
    assert Path("one/table.csv").read_text()
    outputs = (first, cli(*QUICK, "--results", "three"))
    tables = [re.sub(r" +\S+\n", "\n", out.partition("looks per round")[0]) for out in outputs]
    assert tables[0] == tables[1]


def test_banks_are_removed_by_the_beginning_of_their_keys(
    cli: CommandLine,
) -> None:
    keys = [put(n) for n in (10, 20, 30)]
    unique = next(n for n in range(1, 33) if keys[1][:n] not in (keys[0][:n], keys[2][:n]))
    out = cli("cache", "clear", keys[1][:unique].upper(), keys[1])
    assert re.fullmatch(r"removed: 1 feature bank, 0\.0\d MiB\n", out)
    assert {path.name for path in banks_dir().iterdir()} == {keys[0], keys[2]}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("clear", "name the keys of the banks to remove (see 'boostsample cache'), or give --all"),
        ("clear nothing", "'nothing' is no cached feature bank; there are: "),
        ("clean", "unknown command 'clean' (did you mean 'clear'?); known: clear, verify"),
    ],
)
def test_bad_usage_removes_nothing(cli: CommandLine, args: str, message: str) -> None:
    put(10)
    assert message in cli.refused(f"cache {args}")
    assert len(list(banks_dir().iterdir())) == 1


def test_all_is_removed_but_what_is_being_built(cli: CommandLine, cache: Path) -> None:
    put(10)
    stale, fresh = building_in_cache("aa"), building_in_cache("bb")
    for folder in (stale, fresh):
        folder.mkdir()
        (folder / "bins.npy").write_bytes(b"x" * 2**20)
    for path in (stale / "bins.npy", stale):
        os.utime(path, (1, 1))
    (cache / "datasets").mkdir()
    assert "2 unfinished, 2.00 MiB: being built, or left by a run that was killed" in cli("cache")
    out = cli("cache", "clear", "--all")
    assert re.match(r"removed: 1 feature bank, 1\.\d\d MiB\nkept, because it was written", out)
    assert list(banks_dir().iterdir()) == [fresh]
    assert (cache / "datasets").is_dir()


def test_every_byte_is_verified(cli: CommandLine) -> None:
    good, bad = put(10), put(20)
    assert sorted(cli("cache", "verify").splitlines()) == sorted(
        [f"{good[:12]}  good", f"{bad[:12]}  good"]
    )
    path = banks_dir() / bad / "cuts.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    told = cli("cache", "verify", code=1) + cli.err
    assert f"{good[:12]}  good\n" in told
    assert f"{bad[:12]}  damaged: cuts.npy is damaged at feature 1\n" in told
    assert "boostsample: error: 1 feature bank of 2 damaged; remove with" in told
    assert f"clear {bad[:12]}'" in told
    assert cli("cache", "verify", good) == f"{good[:12]}  good\n"
    assert cli("cache").count("left 1, right 1") == 2  # the list reads headers alone


def test_damaged_headers_are_listed_and_can_be_removed(cli: CommandLine) -> None:
    key = put(10)
    (banks_dir() / key / "header.json").write_text("{}")
    assert f"{key[:12]}  ?     ? " in cli("cache")
    assert "damaged: header.json is damaged" in cli("cache")
    assert "damaged: header.json is damaged" in cli("cache", "verify", code=1)
    assert "removed: 1 feature bank" in cli("cache", "clear", key)
