"""Recomputing repeats a recorded command: which of its options, and in which folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.recompute import recorded_place, training_options


def test_what_is_written_and_how_work_is_shared_are_not_repeated() -> None:
    args = ["compare", "--results", "x", "--shard=1/2", "--data", "y.csv", "--plot", "p.svg", "-q"]
    assert training_options(args) == ["compare", "--data", "y.csv", "-q"]


@pytest.mark.parametrize(
    ("folder", "args", "place"),
    [
        ("project/results/run", ["compare"], "project"),
        ("project/run", ["compare", "--results", "run", "--quiet"], "project"),
        ("project/a/run", ["compare", "--results=a/run"], "project"),
        ("project/renamed", ["compare", "--results", "run"], "here"),
        ("project/run", ["compare", "--results", "/elsewhere/run"], "here"),
    ],
)
def test_the_folder_of_a_command_follows_from_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, args: list[str], place: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert recorded_place(tmp_path / folder, args) == (tmp_path / place).resolve()
