"""The commands that draw: plot, report, and list families --picture."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main
from tests.experiments.conftest import CommandLine

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
def new(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "new", tmp_path / "new")


SAYS = {
    "curves": "test error in percent",
    "families": "% of all features",
    "features": "feature (counted from 0)",
    "sampling": "features searched, Q",
    "edges": "true edge G",
    "margins": "4 stumps, training",
}


def text_of(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize("picture_name", SAYS)
def test_plot_draws_a_results_folder(cli: CommandLine, picture_name: str) -> None:
    assert cli(f"plot new --what {picture_name} -o x.svg") == "plot: x.svg\n"
    assert cli.err == ""
    text = text_of("x.svg")
    assert "chess" in text
    assert [picture for picture, words in SAYS.items() if words in text] == [picture_name]
    cli(f"plot new --what {picture_name} -o y.svg")
    assert text_of("y.svg") == text


@pytest.mark.usefixtures("new")
def test_curves_have_an_axis_and_a_metric(cli: CommandLine) -> None:
    cli("plot new -o x.svg --against looks --metric error")
    text = text_of("x.svg")
    assert "looks (search and modelling)" in text
    assert "test error in percent" in text
    assert "log10 of the exponential loss" not in text


@pytest.mark.usefixtures("new")
def test_pictures_of_several_folders(trained: Path, cli: CommandLine) -> None:
    for name in ("other", "third"):
        shutil.copytree(trained / name, name)
    both = "plot new other -o x.svg --overwrite"
    ranks = f"{both} third --what ranks"
    cli(f"{ranks} --rename laminating=Ours")
    text = text_of("x.svg")
    assert "after 4 stumps, 3 data sets" in text
    assert "Ours" in text
    assert "laminating" not in text
    cli(f"{ranks} --stumps 2 --metric error")
    assert "test error in percent after 2 stumps" in text_of("x.svg")
    for picture_name in ("curves", "edges"):
        cli(f"{both} --what {picture_name} --data {OTHER}")
        assert "chess" not in text_of("x.svg")
    cli(both)
    assert f"chess(d=3,J=3,L=3,n=60), {OTHER}:" in text_of("x.svg")
    message = cli.refused(f"{both} --what edges")
    assert "shows one data set, but the results have chess(d=3" in message


@pytest.mark.usefixtures("new")
def test_folders_without_cells_still_have_curves_and_sampling(cli: CommandLine) -> None:
    shutil.rmtree("new/cells")
    cli("plot new -o x.svg")
    assert cli.err == ""
    cli("plot new --what sampling -o x.svg --overwrite")
    assert "no cells, which this needs" in cli.err
    assert "means over all searches so far" in text_of("x.svg")
    message = cli.refused("plot new --what margins -o y.svg", code=1)
    assert "'new' has no cells, which this needs" in message
    assert not Path("y.svg").exists()


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ("plot new --what family", 2, "unknown picture 'family' (did you mean"),
        ("plot new --what ranks", 2, "of 5 strategies needs 3 data sets or more"),
        ("plot new --against time", 2, "unknown axis 'time'; known: stumps"),
        ("plot new --stumps 2", 2, "--stumps needs --what ranks or feat"),
        ("plot new --what edges --metric loss", 2, "--metric needs --what curves or ranks, got ed"),
        ("plot new --size 3x", 2, "size must be width and height in inches"),
        ("plot new --without titel", 2, "unknown part of a picture 'titel'"),
        ("plot new --dpi 99", 2, "--dpi is for .png files, got 99"),
        ("plot new --rename full", 2, "--rename must be OLD=NEW pairs"),
        ("plot new -o no/x.svg", 1, "the picture 'no/x.svg' cannot be written"),
        ("plot old", 1, "'old' is not a folder; name one that"),
        ("compare --size 3x2", 2, "--size is for a picture, but none is drawn; add --plot FILE"),
        ("list families --data digits", 2, "--data needs --picture FILE"),
        ("list data --picture x.svg", 2, "--picture needs list families, got list data"),
        ("list families --picture x.svg --image-shape 28", 2, "as in 28x28 or 32x32x3"),
        ("list families --picture x.svg --data chess", 2, "is a table of"),
        ("list families --picture x.svg --example -1", 2, "between 0 and 1796, got -1"),
        ("report new -o there.html", 2, "must be new, but 'there.html' exists"),
        (
            "plot new --data-dir d",
            2,
            "--data-dir is for a metric of a file, which scores the models",
        ),
        ("report new -o x.pdf", 2, "the file of the report must end in .html, got 'x.pdf'"),
        ("report new -o no/x.html", 1, "the file of the report 'no/x.html' cannot be written"),
    ],
)
def test_what_is_refused(cli: CommandLine, args: str, code: int, message: str) -> None:
    Path("there.html").write_text("mine", "utf-8")
    output = ["-o", "x.svg"] if args.startswith("plot") and "-o" not in args else []
    quiet = ["--quiet"] if args.startswith("report") else []
    assert message in cli.refused(*args.split(), *output, *quiet, code=code)
    assert {path.name for path in Path().iterdir()} == {"there.html", "new"}
    assert text_of("there.html") == "mine"


@pytest.mark.usefixtures("new")
def test_a_picture_for_a_paper(cli: CommandLine) -> None:
    layout = "--size 3x2.5 --dpi 100 --without title,legend"
    cli(f"plot new --metric loss {layout} -o x.png")
    content = Path("x.png").read_bytes()
    assert [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)] == [300, 250]
    cli("plot new --what edges --rename full=Best -o x.svg")
    assert ">Best<" in text_of("x.svg")


def test_a_picture_of_families(cli: CommandLine) -> None:
    args = "list families --picture x.svg --families haar,patches:n_members=9"
    assert cli(args).endswith("\npicture: x.svg\n")
    before = text_of("x.svg")
    assert "digits, example 0" in before
    assert "9 features" in before
    assert "gradient" not in before
    cli(f"{args} --overwrite --example 1 --image-shape 9x10")
    assert "example 1" in text_of("x.svg")
    cli(f"{args} --overwrite --seed 0")
    assert text_of("x.svg") == before


@pytest.mark.usefixtures("new")
def test_a_report_is_one_file(cli: CommandLine) -> None:
    shutil.rmtree("new/cells")  # whose pictures take most of the time
    assert cli("report new -o x.html --quiet") == "report: x.html\n"
    assert cli.err == ""
    assert "<title>Strategies on chess(d=3,J=3,L=3,n=60)</title>" in text_of("x.html")
    cli("report new -o x.html --quiet --title Mine --overwrite")
    assert "<title>Mine</title>" in text_of("x.html")
    assert {path.name for path in Path().iterdir()} == {"x.html", "new"}
