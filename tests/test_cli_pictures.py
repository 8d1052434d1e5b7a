"""The commands that draw: plot, and list families --picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from boostsample.cli import main

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")

QUICK = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2,4", "--repeats", "2", "--quiet"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOSTSAMPLE_DEBUG", raising=False)


@pytest.mark.parametrize("what", ["curves", "families"])
def test_plot_draws_a_results_folder(capsys: pytest.CaptureFixture[str], what: str) -> None:
    assert main([*QUICK, "--results", "new", "--history"]) == 0
    capsys.readouterr()
    assert main(["plot", "new", "--what", what, "-o", "x.svg"]) == 0
    assert capsys.readouterr().out == "plot: x.svg\n"
    text = Path("x.svg").read_text(encoding="utf-8")
    assert "chess" in text
    assert ("test error" in text) == (what == "curves")
    assert ("% of all features" in text) == (what == "families")


def test_plot_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--results", "new"]) == 0
    capsys.readouterr()
    cases = {
        ("new", "--what", "families", "-o", "x.svg"): (1, "run compare again with --history"),
        ("new", "--what", "family", "-o", "x.svg"): (2, "unknown picture 'family' (did you mean"),
        ("new", "-o", "x.gif"): (2, "must end in one of .svg, .png, .pdf"),
        ("new", "-o", "no/x.svg"): (1, "the picture 'no/x.svg' cannot be written"),
        ("old", "-o", "x.svg"): (1, "'old' must be a complete results folder"),
        ("new",): (2, "Missing option '-o'"),
        ("-o", "x.svg"): (2, "Missing argument 'RESULTS'"),
    }
    for args, (code, message) in cases.items():
        assert main(["plot", *args]) == code
        captured = capsys.readouterr()
        assert captured.out == ""
        assert message in captured.err
        assert captured.err.count("\n") == 1
    assert not Path("x.svg").exists()


def test_a_picture_of_families(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["list", "families", "--picture", "x.svg", "--families", "haar,patches:n_members=9"]
    assert main(args) == 0
    assert capsys.readouterr().out.endswith("\npicture: x.svg\n")
    text = Path("x.svg").read_text(encoding="utf-8")
    assert "digits, example 0" in text
    assert "9 features" in text
    assert "gradient" not in text
    before = Path("x.svg").read_bytes()
    assert main([*args, "--example", "1", "--image-shape", "9x10"]) == 0
    assert "example 1" in Path("x.svg").read_text(encoding="utf-8")
    assert main([*args, "--seed", "0"]) == 0
    assert Path("x.svg").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["families", "--data", "digits"], 2, "--data needs --picture FILE"),
        (["--example", "0"], 2, "--example needs --picture FILE"),
        (["data", "--picture", "x.svg"], 2, "--picture goes with list families, got list data"),
        (["--picture", "x.svg"], 2, "--picture goes with list families, got list"),
        (["families", "--picture", "x.gif"], 2, "must end in one of .svg, .png, .pdf"),
        (["families", "--picture", "x.svg", "--families", "har"], 2, "(did you mean 'haar'?)"),
        (["families", "--picture", "x.svg", "--image-shape", "28"], 2, "as in 28x28 or 32x32x3"),
        (["families", "--picture", "x.svg", "--data", "chess"], 2, "is a table of"),
        (["families", "--picture", "x.svg", "--example", "-1"], 2, "between 0 and 1796, got -1"),
        (["families", "--picture", "x.svg", "--seed", "-1"], 2, "seed must be"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    capsys: pytest.CaptureFixture[str], args: list[str], code: int, message: str
) -> None:
    assert main(["list", *args]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not Path("x.svg").exists()
