"""The command `boostsample bench`: which sections run, what is refused, and one small real run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.bench import sections
from boostsample.experiments.bench.problem import BenchProblem
from boostsample.experiments.bench.reference import read_reference, write_reference
from boostsample.experiments.bench.sections import SECTIONS
from boostsample.experiments.bench.timing import TimingResult, TimingSizes
from boostsample.experiments.commands.bench import chosen_sections
from boostsample.experiments.commands.cli import main
from boostsample.experiments.common.progress import Progress

SMALL = TimingSizes(
    examples=400,
    features=24,
    classes=3,
    rounds=4,
    turn=2,
    threads=2,
    look_classes=(2, 3),
    look_features=(4, 8),
    look_sample=50,
    samples=(20, 100),
    sample_features=24,
    searches=3,
    gathers=2,
    growth=(300, 600),
    growth_features=(2, 4),
    growth_sampled=(50, 100),
    growth_classes=(2, 3),
    sweeps=2,
)


def test_the_help_names_every_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"Sections: {', '.join(SECTIONS)}." in " ".join(printed.split())
    for name in SECTIONS:
        assert f"\n  {name:<8}" in printed


def test_sections_are_chosen_by_name() -> None:
    assert chosen_sections(None) == tuple(SECTIONS)
    assert chosen_sections("growth, looks") == ("looks", "growth")
    with pytest.raises(SettingError, match=r"unknown section 'lokks' \(did you mean 'looks'\?\)"):
        chosen_sections("lokks")
    with pytest.raises(SettingError, match="must name a section; there are: looks, samples"):
        chosen_sections(" ,")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--strategies", "ucv"], 2, "unknown strategy 'ucv' (did you mean 'ucbv'"),
        (["--rounds", "0"], 2, "rounds must be an integer at least 1, got 0"),
        (["--jobs", "1"], 2, "jobs must be at least 2, to be compared with one thread, got 1"),
        (["--only", "speed"], 2, "unknown section 'speed'; known: looks, samples"),
        (["--only", "looks", "--plot", "x.svg"], 2, "--plot draws the section growth, but only"),
        (["--plot", "x.gif"], 2, "must end in one of .svg, .png, .pdf, got 'x.gif'"),
        (["--json", "x.txt"], 2, "must end in .json, got 'x.txt'"),
        (["--keep", "x"], 2, "must end in .json, got 'x'"),
        (["--reference", "none.json"], 1, "the reference 'none.json' cannot be read"),
    ],
)
def test_bad_options_are_refused_before_any_work(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.setattr(sections, "SECTIONS", dict.fromkeys(SECTIONS))
    assert main(["bench", "--quiet", *options]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_without_a_reference_nothing_can_fail(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "SECTIONS", dict.fromkeys(SECTIONS))
    monkeypatch.setattr("boostsample.experiments.bench.reference.shipped_reference", lambda _: None)
    assert main(["bench", "--quiet", "--fail-on-regression"]) == 2
    assert "--fail-on-regression needs a reference" in capsys.readouterr().err


def test_a_run_and_its_comparison_with_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sections, "SECTION_SIZES", SMALL)
    options = ["bench", "--quiet", "--strategies", "ucb"]
    kept, numbers, picture = (str(tmp_path / name) for name in ("k.json", "n.json", "p.svg"))
    assert main([*options, "--keep", kept, "--json", numbers, "--plot", picture]) == 0
    printed = capsys.readouterr().out
    for text in (
        "a look, threshold search included",
        "a look at a sample, sweeps included",
        "laminating: least and median milliseconds to read",
        "a round: mean looks",
        "uniform-naive, 2 threads",
        "a round as N grows",
        "a search as K grows",
        f"numbers: {numbers}",
        f"reference: {kept}",
        f"plot: {picture}",
    ):
        assert text in printed
    # The reference of the package is for the usual sizes.
    assert "note: looks: not compared, examples is 400 here and 60000 in the reference" in printed
    record = json.loads(Path(numbers).read_text())
    assert list(record["sections"]) == list(SECTIONS)
    assert record["command"][:2] == ["boostsample", "bench"]
    drawn = Path(picture).read_text()
    assert "slope" in drawn
    assert "uniform-naive" in drawn

    # A reference that no run can reach, and the run of which it is one.
    impossible = json.loads(Path(kept).read_text())
    impossible.pop("sha256")
    for ratio in impossible["sections"]["rounds"]["ratios"].values():
        ratio["value"] = 1e-9
    write_reference(impossible, tmp_path / "i.json")
    impossible["machine"]["processor"] = "An abacus"
    write_reference(impossible, tmp_path / "a.json")
    worse = [*options, "--only", "rounds", "--reference", str(tmp_path / "i.json")]
    assert main(worse) == 0
    printed = capsys.readouterr().out
    assert "rounds: ucb" in printed
    assert "1 ratio of 1 worse than the reference of 20" in printed
    assert "of another processor" not in printed
    assert main([*worse, "--fail-on-regression"]) == 1
    assert "1 of 1 ratios are worse than the reference" in capsys.readouterr().err
    assert main([*worse[:-1], str(tmp_path / "a.json")]) == 0
    assert "(An abacus)\n\nnote: the reference is of another processor" in capsys.readouterr().out


def test_further_passes_time_all_sections_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run: list[str] = []

    def section(name: str) -> Callable[[BenchProblem, TimingSizes, Progress], TimingResult]:
        def timed(problem: BenchProblem, sizes: TimingSizes, progress: Progress) -> TimingResult:
            run.append(name)
            return TimingResult((), {}, {"a": float(len(run))}, {"examples": 9})

        return timed

    monkeypatch.setattr(sections, "SECTION_SIZES", SMALL)
    monkeypatch.setattr(sections, "SECTIONS", {name: section(name) for name in SECTIONS})
    kept = tmp_path / "kept.json"
    assert main(["bench", "--quiet", "--only", "looks,rounds", "--keep", str(kept)]) == 0
    assert run == ["looks", "rounds"] * 3
    reference = read_reference(kept)
    assert list(reference.ratios) == ["looks", "rounds"]
    assert reference.ratios["looks"]["a"] == (3.0, 2.7)
    assert reference.conditions["looks"] == {"examples": 9}


def test_rounds_on_a_data_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "SECTION_SIZES", SMALL)
    options = ["--data", "chess(d=3,n=200)", "--only", "rounds", "--strategies", "mas-naive"]
    assert main(["bench", "--quiet", *options, "--rounds", "3"]) == 0
    printed = capsys.readouterr().out
    assert "milliseconds of 3 rounds" in printed
    assert "mas-naive" in printed
    assert "note: rounds: not compared, data is chess(d=3,J=3,L=3,n=200) here and made" in printed
