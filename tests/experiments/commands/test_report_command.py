"""`boostsample report`: what it writes, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main

pytest.importorskip("jinja2", reason="reports need the extra 'report'")
pytest.importorskip("matplotlib", reason="reports need the extra 'report'")

QUICK = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2,4", "--repeats", "2", "--quiet"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report") / "results"
    assert main([*QUICK, "--results", str(folder)]) == 0
    shutil.rmtree(folder / "cells")  # whose pictures take most of the time
    return str(folder)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOSTSAMPLE_DEBUG", raising=False)
    capsys.readouterr()


def test_it_writes_one_file_and_says_where(
    results: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", results, "-o", "x.html", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "report: x.html\n"
    assert captured.err == ""
    first = Path("x.html").read_bytes()
    assert b"<title>Strategies on chess(d=3,J=3,L=3,n=60)</title>" in first
    again = ["report", results, "-o", "x.html", "--title", "Mine"]
    assert main(again) == 2
    assert "must be new, but 'x.html' exists" in capsys.readouterr().err
    assert first == Path("x.html").read_bytes()
    assert main([*again, "--overwrite"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "report: x.html\n"
    assert all(line.startswith("boostsample: ") for line in captured.err.splitlines())
    assert first != Path("x.html").read_bytes()
    assert b"<title>Mine</title>" in Path("x.html").read_bytes()
    assert [path.name for path in Path().iterdir()] == ["x.html"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["R", "-o", "x.pdf"], 2, "the file of the report must end in .html, got 'x.pdf'"),
        (["R", "-o", "no/x.html"], 1, "the file of the report 'no/x.html' cannot be written"),
        (["R", "R", "-o", "x.html"], 2, "is in two of the results folders"),
    ],
)
def test_what_cannot_be_is_one_line(
    results: str, capsys: pytest.CaptureFixture[str], args: list[str], code: int, message: str
) -> None:
    given = [results if arg == "R" else arg for arg in args]
    assert main(["report", *given, *(["--quiet"] if len(args) > 1 else [])]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert list(Path().iterdir()) == []
