"""The commands `table` and `validate`: what they print, write and refuse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas
import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.results.read_folder import read_results
from tests.experiments.conftest import CommandLine

ONE, TWO = "chess(d=3,J=3,L=3,n=60)", "chess(d=4,J=3,L=3,n=60)"
QUICK = ["compare", "--rounds", "3,9", "--repeats", "3", "--quiet", "--strategies"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two results folders, `one` and `two`, of different data."""
    folder = tmp_path_factory.mktemp("made")
    names = "full,uniform-naive:n_features=2"
    for name, data in (("one", ONE), ("two", TWO)):
        assert main([*QUICK, names, "--data", data, "--results", str(folder / name)]) == 0
    return folder


@pytest.fixture(autouse=True)
def _beside_copies(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path / "x")
    monkeypatch.chdir(tmp_path / "x")


def test_the_default_is_the_loss_at_equal_stumps(cli: CommandLine) -> None:
    out = cli("table one")
    lines = out.splitlines()
    assert lines[0] == f"{ONE}: log10 loss, mean (std) of 3 repetitions"
    assert lines[1].split() == ["stumps", "full", "uniform-naive:n_features=2"]
    assert [line.split()[0] for line in lines[3:5]] == ["3", "9"]
    assert "Nadeau and Bengio" in out
    assert "\x1b" not in out
    assert cli.err == ""


@pytest.mark.parametrize("at", ["stumps", "looks", "seconds", "stumps=9", "looks=200,300"])
@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv"])
def test_every_axis_in_every_format(cli: CommandLine, at: str, form: str) -> None:
    options = f"--metric error --at {at} --format {form} --transpose"
    out = cli(f"table one two {options}")
    assert ONE in out
    assert TWO in out
    assert cli.err == ""


def test_a_file_has_what_would_be_printed(cli: CommandLine) -> None:
    for form, name in (("text", "x.txt"), ("markdown", "x.md"), ("latex", "x.tex")):
        printed = cli(f"table one --format {form}")
        assert cli(f"table one -o {name}") == f"tables: {name}\n"  # the format is that of the name
        assert cli.err == ""
        assert Path(name).read_text(encoding="utf-8") == printed
    cli("table two one -o x.CSV --format csv")
    assert pandas.read_csv("x.CSV")["data"].tolist() == [TWO] * 4 + [ONE] * 4


def test_columns_are_chosen_ordered_and_renamed(cli: CommandLine) -> None:
    chosen = f"--strategies uniform-naive,full --data {TWO} --rename full=All"
    lines = cli(f"table one two {chosen}").splitlines()
    assert lines[0].startswith(f"{TWO}: log10 loss")
    assert lines[1].split() == ["stumps", "uniform-naive:n_features=2", "All"]
    assert not any(line.startswith(f"{ONE}: ") for line in lines)


def test_a_width_cuts_latex_between_columns(cli: CommandLine) -> None:
    for width, n_panels in (("170pt", 2), ("7in", 1)):
        assert cli(f"table one --format latex --width {width}").count(r"\toprule") == n_panels


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ("old", 1, "'old' is not a folder; name one that"),
        ("one --at look", 2, "unknown axis 'look' (did you mean 'looks'?)"),
        ("one --strategies ful", 2, "unknown strategy of these results 'ful' (did you"),
        ("one --data chess", 2, "unknown data set of these results 'chess'"),
        ("one --rename full", 2, "--rename must be OLD=NEW pairs separated by commas"),
        ("one --data-dir x", 2, "--data-dir is for a metric of a file, which scores the models"),
        ("one --width 3in", 2, "--width is a width of latex, got the format text"),
        ("one --width 3 --format latex", 2, "--width must be a length in pt, in"),
        ("one --format markdwn", 2, "unknown format 'markdwn' (did you mean 'markdown'?)"),
        ("one -o x.md --format csv", 2, "must end in .csv, got 'x.md'"),
        ("one -o no/x.md", 1, "the file of tables 'no/x.md' cannot be written"),
    ],
)
def test_what_is_refused(cli: CommandLine, args: str, code: int, message: str) -> None:
    assert message in cli.refused(f"table {args}", code=code)
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["one", "two"]


VARIANTS = "uniform-naive:n_features=1,uniform-naive:n_features=2,laminating:n_features=2"
DATA = "chess(d=3,J=3,L=3,n=80)"


def compare(folder: Path | str, *args: str) -> None:
    few = ("--strategies", VARIANTS, "--rounds", "20", "--repeats", "2", "--quiet")
    assert main(["compare", *few, "--results", str(folder), *args]) == 0


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("validate")
    compare(folder / "held", "--data", f"{DATA}:validation=0.2", "--score-every", "1")
    compare(folder / "tested", "--data", DATA)
    return {name: str(folder / name) for name in ("held", "tested")}


def test_the_validation_has_a_row_for_each_strategy(
    folders: dict[str, str], cli: CommandLine
) -> None:
    held, tested = folders.values()
    text = cli("validate", held, tested)
    assert text.startswith(f"{DATA}:validation=0.2: smoothed errors in percent, mea")
    assert [line.split()[0] for line in text.splitlines()[3:5]] == ["uniform-naive", "laminating"]
    assert "test error" not in cli("validate", held).partition("\n\n")[0]
    cli("validate", held, tested, "-o", "x.csv")
    rows = pandas.read_csv("x.csv")
    assert rows["variants"].tolist() == [2, 1]
    assert (rows["test_mean"] >= 0).all()
    cli.refused("validate", held, tested, "-o", "x.csv")
    cli("validate", held, tested, "-o", "x.csv", "--overwrite")


def test_more_scores_are_added_to_a_finished_folder_without_training() -> None:
    few = ("--data", "chess(d=3,n=80)", "--rounds", "200")
    compare("again", *few)
    before = read_results("again")
    compare("again", *few, "--score-every", "1")
    after = read_results("again")
    assert repr(after.rows) == repr(before.rows)
    kept = {row["stumps"] for row in before.curves}
    assert len({row["stumps"] for row in after.curves}) > 3 * len(kept)
    assert repr([r for r in after.curves if r["stumps"] in kept]) == repr(before.curves)
    assert after.settings["score_every"] == 1.0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["tested", "tested"], "must be of a data set with the option validation"),
        (["held", "held"], f"the test results must have the data set {DATA}"),
        (["held", "--format", "latex"], "; known: text, markdown, csv\n"),
    ],
)
def test_what_validate_refuses(
    folders: dict[str, str], args: list[str], says: str, cli: CommandLine
) -> None:
    assert says in cli.refused("validate", *(folders.get(arg, arg) for arg in args)) + "\n"
