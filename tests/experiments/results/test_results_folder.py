"""The results folder is complete or visibly not, and never half-written or overwritten."""

from __future__ import annotations

import csv
import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.results.plan_file import (
    FORMAT,
    FORMAT_OF_SETUPS,
    check_growth,
    plan_record,
)
from boostsample.experiments.results.read_folder import Results, read_results
from boostsample.experiments.results.write_folder import ResultsFolder
from boostsample.experiments.run.comparison import compare
from boostsample.files.atomic import atomic_file


@pytest.fixture(scope="module")
def comparison() -> Results:
    names = ["uniform-naive:n_features=2", "laminating"]
    return compare("chess(d=3,n=60)", strategies=names, rounds=[2, 4], repeats=2, history=True)


@pytest.fixture
def written(comparison: Results, tmp_path: Path) -> Path:
    folder = tmp_path / "written"
    with ResultsFolder(folder) as claimed:
        claimed.write(comparison)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_is_read_is_what_was_written(comparison: Results, written: Path) -> None:
    assert names(written) == ["history.csv", "plan.json", "table.csv"]
    found = read_results(written)
    assert found.rows == comparison.rows  # floats to the bit
    assert [type(value) for value in found.rows[0].values()] == [
        type(value) for value in comparison.rows[0].values()
    ]
    assert repr(found.curves) == repr(comparison.curves)  # NaN is not equal to itself
    assert len(found.history) == len(comparison.history) == 2 * 2 * 4
    for row, text in zip(comparison.history, found.history, strict=True):
        assert {key: str(value) for key, value in row.items()} == text


def test_the_settings_say_how_to_repeat_it(comparison: Results, written: Path) -> None:
    settings = json.loads((written / "plan.json").read_text("ascii"))
    assert settings["format"] == FORMAT
    assert len(settings["data_sets"][0]["sha256"]) == 64
    assert settings["data_sets"][0]["strategies"][0]["parameters"] == {
        "n_features": 2,
        "scheme": "iid",
    }
    assert settings["data_sets"][0]["strategies"][0]["budget"] == [450, 450]
    assert settings["versions"].keys() >= {"boostsample", "python", "numpy", "numba"}
    assert set(settings["files"]) == {"history.csv", "table.csv"}


def test_a_run_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    def fail() -> None:
        with ResultsFolder(tmp_path / "new"), ResultsFolder(tmp_path / "deeper" / "still"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert names(tmp_path) == []


def test_an_empty_folder_of_the_user_survives_a_failure(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    ResultsFolder(tmp_path / "mine").discard()
    assert names(tmp_path) == ["mine"]


def test_results_without_cells_are_never_overwritten(written: Path) -> None:
    before = {path: path.read_bytes() for path in written.iterdir()}
    with pytest.raises(SettingError, match=r"begun with the same settings, but .* holds history"):
        ResultsFolder(written)
    assert {path: path.read_bytes() for path in written.iterdir()} == before


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SettingError, match=r"holds thesis.tex; name another folder"):
        ResultsFolder(tmp_path)
    assert names(tmp_path) == ["thesis.tex"]


def test_two_runs_share_a_folder_and_one_that_fails_leaves_it_to_the_other(tmp_path: Path) -> None:
    first = ResultsFolder(tmp_path / "new")
    second = ResultsFolder(tmp_path / "new")
    second.discard()
    assert names(tmp_path / "new") == []
    first.discard()
    assert names(tmp_path) == []


def test_a_run_that_ends_leaves_the_folder_to_one_that_holds_a_claim(tmp_path: Path) -> None:
    prepared = [prepare(load_dataset("chess(d=3,n=60)"), Plan(marks=(2,), repeats=1))]
    first, second = ResultsFolder(tmp_path / "new"), ResultsFolder(tmp_path / "new")
    stores = [one.begin(prepared) for one in (first, second)]
    stores[0].close()
    assert stores[1].take(task_groups(prepared[0])[0][0].file_name)
    first.discard()
    assert {"plan.json", "cells"} == {*names(tmp_path / "new")}
    stores[1].close()
    second.discard()
    first.discard()
    assert names(tmp_path) == []


@pytest.mark.parametrize("below", ["", "/b/c"])
def test_a_file_in_place_of_the_folder(tmp_path: Path, below: str) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(DataError, match=r"cannot be written to the folder .*'.*a' is a file; name"):
        ResultsFolder(f"{tmp_path}/a{below}")
    assert (tmp_path / "a").read_text() == "mine"


def test_a_full_disk_is_found_out_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", no_space)
    with pytest.raises(DataError, match="No space left on device"):
        ResultsFolder(tmp_path / "new")
    assert names(tmp_path) == []


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_atomic_file_is_the_old_one_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write() -> None:
        with atomic_file(path) as stream:
            stream.write(b"new" * 100_000)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, no_space)
        with pytest.raises(OSError, match="No space left"):
            write()
    assert (names(tmp_path), path.read_bytes()) == (["file"], b"old")
    write()
    assert (names(tmp_path), path.read_bytes()) == (["file"], b"new" * 100_000)


@pytest.mark.parametrize(
    ("n_good", "left", "message"),
    [
        (0, [], "table.csv could not be written .* No space left on device; no cell is kept"),
        (1, ["table.csv"], "history.csv could not .*; make room and run the same"),
        (2, ["history.csv", "table.csv"], "plan.json could not be written"),
    ],
)
def test_a_disk_that_fills_up_leaves_whole_files_and_a_mark(
    comparison: Results,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_good: int,
    left: list[str],
    message: str,
) -> None:
    replace, calls = os.replace, []

    def sometimes(source: Any, target: Any) -> None:
        calls.append(target)
        if len(calls) > n_good:
            no_space()
        replace(source, target)

    path = tmp_path / "folder"
    monkeypatch.setattr(os, "replace", sometimes)

    def write() -> None:
        with ResultsFolder(path) as folder:
            folder.write(comparison)

    with pytest.raises(DataError, match=message):
        write()
    assert (names(path) if path.exists() else []) == left
    if n_good:
        with (path / "table.csv").open(newline="") as stream:
            assert len(list(csv.DictReader(stream))) == len(comparison.table)
    with pytest.raises(DataError, match=r"plan.json is missing; name a folder|is not a folder"):
        read_results(path)


@pytest.mark.parametrize("name", ["table.csv", "history.csv"])
def test_a_missing_table_is_named(written: Path, name: str) -> None:
    (written / name).unlink()
    with pytest.raises(DataError, match=f"{name} is missing"):
        read_results(written)


def test_an_edited_table_is_read(comparison: Results, written: Path) -> None:
    path = written / "table.csv"
    lines = path.read_text("utf-8").splitlines()
    edited = [f"{line},{'note' if not at else 'mine'}" for at, line in enumerate(lines) if at != 1]
    # As a spreadsheet writes it: a mark of the encoding, other ends of lines.
    path.write_bytes("\r\n".join(edited).encode("utf-8-sig"))
    found = read_results(written)
    assert repr(found.curves) == repr(comparison.curves[1:])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"stumps", b"steps", "line 2: stumps must be of type int, got None"),
        (b",0,2,", b",0,two,", "line [23]: stumps must be of type int, got 'two'"),
    ],
)
def test_a_malformed_table_is_refused_with_its_place(
    written: Path, old: bytes, new: bytes, message: str
) -> None:
    path = written / "table.csv"
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(DataError, match=f"table.csv', {message}.*; correct the file, or remove"):
        read_results(written)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"{}", b"\xff", b"[" * 100_000])
def test_settings_that_cannot_be_read(written: Path, content: bytes) -> None:
    (written / "plan.json").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read: .*; restore the file, or remove it"):
        read_results(written)


def test_edited_settings_are_refused(written: Path) -> None:
    text = (written / "plan.json").read_text()
    (written / "plan.json").write_text(text.replace("chess", "chest", 1))
    with pytest.raises(DataError, match=r"plan\.json is damaged or was edited; restore the file"):
        read_results(written)


def test_runs_with_other_keys_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(load_dataset("chess(d=3,n=60)"), Plan(marks=(2,), repeats=1))
    before = plan_record([prepared])
    check_growth(before, [prepared], "'f'")
    before["data_sets"][0]["strategies"][0]["searches"][0]["files"] = ["other.npz"]
    with pytest.raises(
        SettingError, match=r"full of .* has other rows, families, values to tune or"
    ):
        check_growth(before, [prepared], "'f'")


def test_another_spelling_of_a_number_is_named() -> None:
    """1 and 1.0 have different random streams, and a plan refuses to have both."""
    data = load_dataset("chess(d=3,n=60)")
    first, second = (
        prepare(data, Plan(strategies=parse_names(name), marks=(2,), repeats=1))
        for name in ("ucb:exploration=1", "ucb:exploration=1.0,full")
    )
    spelled = "ucb:exploration=1 is spelled ucb:exploration=1.0 in the new one .spell it as before"
    with pytest.raises(SettingError, match=spelled):
        check_growth(plan_record([first]), [second], "'f'")


@pytest.mark.parametrize("number", [1, FORMAT_OF_SETUPS + 1])
def test_another_format_is_refused(number: int, written: Path) -> None:
    record = json.loads((written / "plan.json").read_bytes())
    (written / "plan.json").write_text(json.dumps({**record, "format": number}))
    with pytest.raises(
        DataError, match=f"format {number}, this version of boostsample reads format"
    ):
        read_results(written)
