"""The command line: what it prints where, its exit codes, and what it leaves behind."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boostsample
from boostsample.experiments.commands.cli import main
from boostsample.experiments.data import datasets
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan import prepared as prepared_module
from boostsample.experiments.plan.grid import shipped_grids
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.run import comparison as compare_module
from boostsample.experiments.run.comparison import Schedule
from boostsample.registry import FAMILIES, LEARNERS, strategy_names
from tests.experiments.conftest import CommandLine
from tests.test_import_light import packages_of

QUICK = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2,4", "--repeats", "2"]


def contents(folder: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_version_and_help(cli: CommandLine) -> None:
    assert cli("--version") == f"boostsample {boostsample.__version__}\n"
    for args in ("", "--help", "-h"):
        assert "compare" in cli(args)
    assert "--strategies" in cli("compare --help")
    assert cli.refused("plot --wat x").endswith("See boostsample plot --help.")


def test_lists(cli: CommandLine) -> None:
    everything = cli("list")
    for kind, known in [
        ("strategies", strategy_names()),
        ("families", FAMILIES),
        ("learners", LEARNERS),
        ("data", datasets.dataset_names()),
        ("grids", shipped_grids()),
    ]:
        lines = cli(f"list {kind}").splitlines()
        assert [re.split(r"[ (]", line)[0] for line in lines] == list(known)
        assert all(re.search(r"  \w", line) for line in lines), "something has no description"
        assert f"{kind}:" in everything


def test_lists_import_nothing_slow() -> None:
    listing = "with redirect_stdout(io.StringIO()):\n    main(['list'])"
    imports = "import io\nfrom contextlib import redirect_stdout\n"
    imports += "from boostsample.experiments.commands.cli import main\n"
    slow = {"sklearn", "numba", "scipy", "matplotlib"}
    assert not slow & packages_of(imports + listing)


def test_results_say_what_was_printed(cli: CommandLine) -> None:
    command = [*QUICK, *["--results", "new", "--history", "--plot", "curves.svg", "--jobs", "2"]]
    command += ["--strategies", "uniform-naive:n_features=2,laminating"]
    out = cli(*command)
    assert out.endswith("results: new\nplot: curves.svg\n")
    results = read_results("new")
    assert results.history is not None
    assert results.settings["command"] == ["boostsample", *command]
    loss = np.mean([r["log10_loss"] for r in results.rows[:4] if r["stumps"] == 4])
    assert f"{loss:.2f} (" in out
    assert Path("curves.svg").stat().st_size > 1000


def test_a_step_size_is_part_of_the_results(cli: CommandLine) -> None:
    command = [*QUICK, "--strategies", "full", "--results"]
    out = cli(*command, "small", "--learning-rate", "0.25", "--smoothing", "0.5")
    label = "stump:learning_rate=0.25:smoothing=0.5"
    assert f"balanced initial weights, learner {label}\n" in out
    assert f"settings in use\nfull\nlearner {label}\n" in out
    cli(*command, "full")
    small, full = read_results("small"), read_results("full")
    assert {row["learner"] for row in small.rows} == {label}
    assert small.rows[1]["log10_loss"] > full.rows[1]["log10_loss"]
    assert "small" in cli.refused(*command, "small", "--learning-rate", "0.5")


def test_a_limit_is_part_of_the_results(cli: CommandLine) -> None:
    command = [*QUICK, "--strategies", "full", "--results", "limited"]
    out = cli(*command, "--max-looks", "1")
    assert "balanced initial weights, learner stump:max_looks=1\n" in out
    assert "full: training ended early, number of stumps: 1 in repetition 0" in out
    assert "(max_looks=1 is reached); later rows repeat the last state" in out
    results = read_results("limited")
    assert {row["learner"] for row in results.rows} == {"stump:max_looks=1"}
    assert len({(row["repetition"], row["log10_loss"]) for row in results.rows}) == 2
    assert "max_looks was 1, is None" in cli.refused(*command)
    assert "max_looks was 1, is 2" in cli.refused(*command, "--max-looks", "2")


def test_a_limit_of_cost_is_in_notes_and_labels(cli: CommandLine) -> None:
    command = [*QUICK, "--strategies", "full"]
    out = cli(*command, "--max-cost", "1e-9", "--results", "limited")
    assert "training ended early, number of stumps: 1 in repetition 0" in out
    assert "(max_cost=1e-09 is reached); later rows repeat the last state" in out
    assert "max_cost was 1e-09, is None" in cli.refused(*command, "--results", "limited")
    out = cli(*command, "--max-cost", "1e9", "--results", "whole")
    assert " nominal seconds, below max_cost=1e+09; give more --rounds to spend them" in out
    table = cli("table", "limited", "whole", "--rows", "max_cost")
    assert [line.split()[0] for line in table.splitlines()[3:5]] == ["1e-09", "1e+09"]


def test_the_same_command_again_computes_nothing(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cli(*QUICK, "--results", "mine")
    before = contents("mine")
    assert len(before) == 2 + 5 * 2  # plan and table; the cells
    with monkeypatch.context() as patch:
        patch.setattr(Schedule, "_submit", lambda *_: pytest.fail("it trained"))
        assert cli(*QUICK, "--results", "mine") == table
    assert contents("mine") == before
    for _ in range(3):
        cli(*QUICK, "--quiet")
    assert len(list(Path("results").iterdir())) == 3


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "mine"
    assert main([*QUICK, "--quiet", "--results", str(folder)]) == 0
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--budget", "1000"], "budget was None, is 1000"),
        (["--rounds", "2,8"], "rounds was 2,4, is 2,8"),
        (["--strategies", "full"], "chess(d=3,J=3,L=3,n=60) laminating 0 is not in the new one"),
    ],
)
def test_results_are_never_overwritten_by_those_of_another_grid(
    trained: Path, cli: CommandLine, change: list[str], message: str
) -> None:
    shutil.copytree(trained, "mine")
    before = contents("mine")
    line = cli.refused(*QUICK, "--results", "mine", *change)
    assert "the results folder 'mine' holds another grid" in line
    assert message in line
    assert "name another folder" in line
    assert contents("mine") == before


def test_more_rounds_continue_the_runs_of_a_folder(trained: Path, cli: CommandLine) -> None:
    shutil.copytree(trained, "mine")
    longer = [*QUICK, "--results", "mine", "--rounds", "2,4,6"]
    assert "share 1/2 is done; 5 of 10 runs are saved" in cli(*longer, "--shard", "1/2")
    cli(*longer)
    name = "laminating of chess(d=3,J=3,L=3,n=60)"
    assert f"boostsample: {name}: runs of 4 rounds are continued\n" in cli.err
    assert len(read_results("mine").rows) == 5 * 2 * 3


def test_what_the_library_logs_is_shown(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("boostsample.experiments.data.originals")
    load = datasets.load_dataset

    def slowly(*args: Any, **settings: Any) -> Dataset:
        log.info("downloading %s", "https://example.org/x")
        log.debug("a detail")
        return load(*args, **settings)

    monkeypatch.setattr(prepared_module, "load_dataset", slowly)
    cli(*QUICK)
    assert "boostsample: downloading https://example.org/x\n" in cli.err
    assert "a detail" not in cli.err
    cli(*QUICK, "--quiet")
    assert cli.err == ""
    assert logging.getLogger("boostsample").handlers == []


def test_a_budget_leaves_full_out_with_a_message(cli: CommandLine) -> None:
    message = "full is left out: its search costs F * N = 3 * 45 = 135 looks, more than the budget"
    assert f"note: {message} of 90;" in cli(*QUICK, "--budget", "2N", "--results", "new")
    assert f"boostsample: {message} of 90;" in cli.err
    assert f"note: {message} of 90;" in cli(*QUICK, "--budget", "2N", "--quiet")
    assert cli.err == ""
    results = read_results("new")
    assert "full" not in {row["strategy"] for row in results.rows}
    assert message in results.settings["data_sets"][0]["notes"][0]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("campare", "unknown command 'campare' (did you mean 'compare'?); known: "),
        ("compare --repeats x", "'x' is not a valid integer"),
        ("compare --data digit", "unknown data set 'digit' (did you mean 'digits'?)"),
        ("compare --strategies ful", "unknown strategy 'ful' (did you mean 'full'"),
        ("compare --strategies laminating:q=3", "'q'; known: n_features, new_samples, scheme"),
        ("compare --families haa", "unknown family of digits 'haa'"),
        ("compare --rounds 10;20", "as in 10,100,300, got '10;20'"),
        ("compare --weights even", "known: uniform, balanced"),
        ("compare --learner stomp", "unknown learner 'stomp' (did you mean 'stump'"),
        ("compare --weight-init even", "known: uniform, balanced"),
        ("compare --seed -1", "seed must be an integer at least 0, got -1"),
        ("compare --budget ten", "as in 10N, got 'ten'"),
        ("compare --budget 1N,3N,1N", "values of budget must differ, got 1N twice"),
        ("compare --learner stump,twig", "unknown learner 'twig'"),
        ("compare --learning-rate 2", "learning_rate must be above 0 and at most 1, got 2"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(cli: CommandLine, args: str, message: str) -> None:
    assert message in cli.refused(args)
    assert list(Path().iterdir()) == []


def test_bad_data_is_one_line_and_exit_code_1(cli: CommandLine) -> None:
    Path("bad.npz").write_bytes(b"PK damaged")
    line = cli.refused("compare --data bad.npz", code=1)
    assert "bad.npz cannot be read, it is damaged" in line
    assert [path.name for path in Path().iterdir()] == ["bad.npz"]


def test_what_cannot_be_written_is_found_out_before_the_run(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_module, "compare_all", lambda *_: pytest.fail("it ran"))
    Path("file").write_text("mine")
    line = cli.refused(*QUICK, "--results", "file/below", code=1)
    assert "results cannot be written to the folder 'file/below'" in line
    assert "name another folder" in line
    line = cli.refused(*QUICK, "--plot", "no/such/x.svg", code=1)
    assert "the picture 'no/such/x.svg' cannot be written" in line
    assert [path.name for path in Path().iterdir()] == ["file"]


@pytest.mark.parametrize(
    "args",
    [
        "plot R -o there.svg",
        "table R -o there.md",
        "compare --data chess(n=60) --plot there.svg",
        "calibrate --data chess(n=60) --plot there.svg",
        "calibrate --figure2 there.svg",
        "list families --picture there.svg",
    ],
)
def test_a_file_that_exists_is_kept(args: str, cli: CommandLine) -> None:
    there = next(Path(word) for word in args.split() if word.startswith("there"))
    there.write_text("mine", encoding="utf-8")
    message = f"must be new, but '{there}' exists; name another file, or replace it with"
    assert message in cli.refused(args)
    assert there.read_text(encoding="utf-8") == "mine"
    assert list(Path().iterdir()) == [there]


def test_overwrite_replaces_a_file(cli: CommandLine) -> None:
    Path("f.svg").write_text("mine", encoding="utf-8")
    cli("calibrate --figure2 f.svg --overwrite")
    assert Path("f.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("args", "files"),
    [
        ("table R", "-o FILE"),
        ("compare --data chess(n=60)", "--plot FILE"),
        ("list families", "--picture FILE"),
        ("fit x.csv --target y --dry-run", "-o FILE"),
        ("predict m.bsm x.csv", "-o FILE"),
        ("evaluate m.bsm x.csv --target y", "-o FILE or --picture FILE"),
        ("explain m.bsm", "-o FILE"),
        ("calibrate", "--plot FILE or --csv FILE or --figure2 FILE"),
    ],
)
def test_overwrite_needs_a_file(args: str, files: str, cli: CommandLine) -> None:
    needs = f"--overwrite needs a file to replace; add {files}, or leave it out"
    assert cli.refused(f"{args} --overwrite") == needs
