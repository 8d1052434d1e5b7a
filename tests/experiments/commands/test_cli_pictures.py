"""The commands that draw: plot, report, and list families --picture."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main

pytest.importorskip("jinja2", reason="reports need the extra 'report'")
pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")

OTHER = "diagonal(d=4,J=4,q=0.1,n=60)"
THIRD = "diagonal(d=3,J=3,q=0.1,n=60)"
QUICK = ["--rounds", "2,4", "--repeats", "2", "--quiet"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three results folders, `new`, `other` and `third`."""
    folder = tmp_path_factory.mktemp("trained")
    for name, data in (("new", "chess(d=3,n=60)"), ("other", OTHER), ("third", THIRD)):
        assert main(["compare", "--data", data, *QUICK, "--results", str(folder / name)]) == 0
    return folder


@pytest.fixture
def new(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A results folder `new`, for this test alone."""
    shutil.copytree(trained / "new", tmp_path / "new")
    capsys.readouterr()


SAYS = {
    "curves": "test error in percent",
    "families": "% of all features",
    "features": "feature (counted from 0)",
    "sampling": "features searched, Q",
    "edges": "true edge G",
    "margins": "4 stumps, training",
}


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize("picture_name", SAYS)
def test_plot_draws_a_results_folder(capsys: pytest.CaptureFixture[str], picture_name: str) -> None:
    assert main(["plot", "new", "--what", picture_name, "-o", "x.svg"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "plot: x.svg\n"
    assert captured.err == ""
    text = Path("x.svg").read_text(encoding="utf-8")
    assert "chess" in text
    assert [picture for picture, words in SAYS.items() if words in text] == [picture_name]
    assert main(["plot", "new", "--what", picture_name, "-o", "y.svg"]) == 0
    assert Path("y.svg").read_text(encoding="utf-8") == text


@pytest.mark.usefixtures("new")
def test_curves_have_an_axis_and_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    curves = ["plot", "new", "-o", "x.svg", "--against", "looks", "--metric", "error", "--charged"]
    assert main(curves) == 0
    text = Path("x.svg").read_text(encoding="utf-8")
    assert "looks (search and modelling)" in text
    assert "test error in percent" in text
    assert "log10 of the exponential loss" not in text


@pytest.mark.usefixtures("new")
def test_pictures_of_several_folders(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("other", "third"):
        shutil.copytree(trained / name, name)
    both = ["plot", "new", "other", "-o", "x.svg", "--overwrite"]
    ranks = [*both, "third", "--what", "ranks"]
    assert main([*ranks, "--rename", "laminating=Ours"]) == 0
    text = Path("x.svg").read_text(encoding="utf-8")
    assert "after 4 stumps, 3 data sets" in text
    assert "Ours" in text
    assert "laminating" not in text
    assert main([*ranks, "--stumps", "2", "--metric", "error"]) == 0
    assert "test error in percent after 2 stumps" in Path("x.svg").read_text(encoding="utf-8")
    for picture_name in ("curves", "edges"):
        assert main([*both, "--what", picture_name, "--data", OTHER]) == 0
        assert "chess" not in Path("x.svg").read_text(encoding="utf-8")
    assert main(both) == 0
    assert f"chess(d=3,J=3,L=3,n=60), {OTHER}:" in Path("x.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([*both, "--what", "edges"]) == 2
    assert "shows one data set, but the results have chess(d=3" in capsys.readouterr().err


@pytest.mark.usefixtures("new")
def test_folders_without_cells_still_have_curves_and_sampling(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.rmtree("new/cells")
    assert main(["plot", "new", "-o", "x.svg"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["plot", "new", "--what", "sampling", "-o", "x.svg", "--overwrite"]) == 0
    assert "no cells, which this needs" in capsys.readouterr().err
    assert "means over all searches so far" in Path("x.svg").read_text(encoding="utf-8")
    assert main(["plot", "new", "--what", "margins", "-o", "y.svg"]) == 1
    assert "'new' has no cells, which this needs" in capsys.readouterr().err
    assert not Path("y.svg").exists()


@pytest.mark.usefixtures("new")
def test_plot_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    cases = {
        ("new", "--what", "family", "-o", "x.svg"): (2, "unknown picture 'family' (did you mean"),
        ("new", "--what", "ranks", "-o", "x.svg"): (2, "of 5 strategies needs 3 data sets or more"),
        ("new", "--against", "time", "-o", "x.svg"): (2, "unknown axis 'time'; known: stumps"),
        ("new", "--stumps", "2", "-o", "x.svg"): (2, "--stumps needs --what ranks or feat"),
        ("new", "--what", "edges", "--metric", "loss", "-o", "x.svg"): (
            2,
            "--metric needs --what curves or ranks, got edges",
        ),
        ("new", "--size", "3x", "-o", "x.svg"): (2, "size must be width and height in inches"),
        ("new", "--without", "titel", "-o", "x.svg"): (2, "unknown part of a picture 'titel'"),
        ("new", "--dpi", "99", "-o", "x.svg"): (2, "--dpi is for .png files, got 99"),
        ("new", "--rename", "full", "-o", "x.svg"): (2, "--rename must be OLD=NEW pairs"),
        ("new", "-o", "no/x.svg"): (1, "the picture 'no/x.svg' cannot be written"),
        ("old", "-o", "x.svg"): (1, "'old' is not a folder; name one that"),
    }
    for args, (code, message) in cases.items():
        assert main(["plot", *args]) == code, args
        captured = capsys.readouterr()
        assert captured.out == ""
        assert message in captured.err
        assert captured.err.count("\n") == 1
    assert not Path("x.svg").exists()


@pytest.mark.usefixtures("new")
def test_a_picture_for_a_paper(capsys: pytest.CaptureFixture[str]) -> None:
    layout = ["--size", "3x2.5", "--dpi", "100", "--without", "title,legend"]
    assert main(["plot", "new", "--metric", "loss", *layout, "-o", "x.png"]) == 0
    content = Path("x.png").read_bytes()
    assert [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)] == [300, 250]
    assert main(["plot", "new", "--what", "edges", "--rename", "full=Best", "-o", "x.svg"]) == 0
    assert ">Best<" in Path("x.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["compare", "--size", "3x2"]) == 2
    assert "--size is for a picture, but none is drawn; add --plot FILE" in capsys.readouterr().err


def test_a_picture_of_families(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["list", "families", "--picture", "x.svg", "--families", "haar,patches:n_members=9"]
    assert main(args) == 0
    assert capsys.readouterr().out.endswith("\npicture: x.svg\n")
    text = Path("x.svg").read_text(encoding="utf-8")
    assert "digits, example 0" in text
    assert "9 features" in text
    assert "gradient" not in text
    before = Path("x.svg").read_bytes()
    args.append("--overwrite")
    assert main([*args, "--example", "1", "--image-shape", "9x10"]) == 0
    assert "example 1" in Path("x.svg").read_text(encoding="utf-8")
    assert main([*args, "--seed", "0"]) == 0
    assert Path("x.svg").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["families", "--data", "digits"], 2, "--data needs --picture FILE"),
        (["data", "--picture", "x.svg"], 2, "--picture needs list families, got list data"),
        (["families", "--picture", "x.svg", "--image-shape", "28"], 2, "as in 28x28 or 32x32x3"),
        (["families", "--picture", "x.svg", "--data", "chess"], 2, "is a table of"),
        (["families", "--picture", "x.svg", "--example", "-1"], 2, "between 0 and 1796, got -1"),
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


@pytest.mark.usefixtures("new")
def test_a_report_is_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree("new/cells")  # whose pictures take most of the time
    report = ["report", "new", "-o", "x.html", "--quiet"]
    assert main(report) == 0
    assert capsys.readouterr() == ("report: x.html\n", "")
    first = Path("x.html").read_bytes()
    assert b"<title>Strategies on chess(d=3,J=3,L=3,n=60)</title>" in first
    refused = {
        ("new", "-o", "x.html"): (2, "must be new, but 'x.html' exists"),
        ("new", "-o", "x.pdf"): (2, "the file of the report must end in .html, got 'x.pdf'"),
        ("new", "-o", "no/x.html"): (1, "the file of the report 'no/x.html' cannot be written"),
    }
    for args, (code, message) in refused.items():
        assert main(["report", *args, "--quiet"]) == code
        out, err = capsys.readouterr()
        assert message in err
        assert (out, err.count("\n")) == ("", 1)
    assert first == Path("x.html").read_bytes()
    assert main([*report, "--title", "Mine", "--overwrite"]) == 0
    assert b"<title>Mine</title>" in Path("x.html").read_bytes()
    assert {path.name for path in Path().iterdir()} == {"x.html", "new"}
