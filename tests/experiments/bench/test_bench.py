"""The command `boostsample bench`: which sections run, what is refused, and one small real run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.bench import bench
from boostsample.experiments.bench.bench import SECTIONS, Bench, Sizes, chosen_sections
from boostsample.experiments.bench.ratios import Ratio, Section
from boostsample.experiments.commands.cli import main

SMALL = Sizes(
    examples=400,
    features=24,
    classes=3,
    look_classes=(2, 3),
    finish_classes=(2, 3),
    look_features=(4, 8),
    look_sample=50,
    searches=3,
    stream_bytes=2**16,
    gathers=2,
    rounds=4,
    turn=2,
    growth=(300, 600),
    growth_features=(2, 4),
    growth_sampled=(50, 100),
    growth_classes=(2, 3),
    sweeps=2,
    images=20,
    side=6,
    threads=2,
    thread_strategies=("uniform-naive",),
    start_strategies=(),
    start_repeats=1,
)


def test_the_help_names_every_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"Sections: {', '.join(SECTIONS)}." in " ".join(printed.split())
    for name, kind in SECTIONS.items():
        assert f"\n  {name:<8}{kind.summary}\n" in printed


def test_sections_are_chosen_by_name() -> None:
    assert chosen_sections(None, True) == tuple(SECTIONS)
    assert set(SECTIONS) - set(chosen_sections(None, False)) == {"start"}
    assert chosen_sections("bank, looks", False) == ("looks", "bank")
    with pytest.raises(SettingError, match=r"unknown section 'lokks' \(did you mean 'looks'\?\)"):
        chosen_sections("lokks", False)
    with pytest.raises(SettingError, match="must name a section; there are: looks, bounds"):
        chosen_sections(" ,", False)
    with pytest.raises(SettingError, match="--only looks and --all exclude each other"):
        chosen_sections("looks", True)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--strategies", "ucv"], 2, "unknown strategy 'ucv' (did you mean 'ucbv'"),
        (["--rounds", "0"], 2, "rounds must be at least 1, got 0"),
        (["--jobs", "1"], 2, "jobs must be at least 2, since one thread stands beside, got 1"),
        (["--only", "speed"], 2, "unknown section 'speed'; known: looks, bounds"),
        (["--only", "looks", "--plot", "x.svg"], 2, "--plot draws the section growth, but only"),
        (["--plot", "x.gif"], 2, "must end in one of .svg, .png, .pdf, got 'x.gif'"),
        (["--json", "x.txt"], 2, "must end in .json, got 'x.txt'"),
        (["--keep", "x.json", "--only", "bank"], 2, "--keep needs a section with ratios, got bank"),
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
    monkeypatch.setattr(bench, "Bench", None)
    assert main(["bench", "--quiet", *options]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_without_a_reference_nothing_can_fail(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "Bench", None)
    monkeypatch.setattr("boostsample.experiments.commands.bench._reference", lambda *_: None)
    assert main(["bench", "--quiet", "--fail-on-regression"]) == 2
    assert "--fail-on-regression needs a reference" in capsys.readouterr().err


def test_a_run_and_its_comparison_with_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "STANDARD", SMALL)
    options = ["bench", "--quiet", "--strategies", "ucb"]
    kept, numbers, picture = (str(tmp_path / name) for name in ("k.json", "n.json", "p.svg"))
    assert main([*options, "--keep", kept, "--json", numbers, "--plot", picture]) == 0
    printed = capsys.readouterr().out
    for text in (
        "a look, threshold search included",
        "bounds of a look on all examples",
        "laminating: least and median milliseconds to read",
        "the finish, by a stump that divides the examples at random",
        "a round: mean looks",
        "a round as N grows",
        "a search as K grows",
        "slopes in log-log",
        "threads: median milliseconds of a round",
        "features of 20 images, 6 x 6",
        f"numbers: {numbers}",
        f"reference: {kept}",
        f"plot: {picture}",
    ):
        assert text in printed
    # The reference of the package is for the usual sizes.
    assert "note: looks: not compared, examples is 400 here and 60000 in the reference" in printed
    record = json.loads(Path(numbers).read_text())
    assert list(record["sections"]) == [
        "looks",
        "bounds",
        "finish",
        "rounds",
        "growth",
        "threads",
        "bank",
    ]
    assert record["command"][:2] == ["boostsample", "bench"]
    drawn = Path(picture).read_text()
    assert "slope" in drawn
    assert "uniform-naive" in drawn

    # A reference that no run can reach, and the run of which it is one.
    impossible = json.loads(Path(kept).read_text())
    impossible.pop("sha256")
    for ratio in impossible["sections"]["rounds"]["ratios"].values():
        ratio["value"] = 1e-9
    from boostsample.experiments.bench import record as bench_record

    bench_record.write(impossible, tmp_path / "i.json")
    impossible["machine"]["processor"] = "An abacus"
    bench_record.write(impossible, tmp_path / "a.json")
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


def test_further_passes_time_only_what_has_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def timed(bench: Bench, name: str) -> Section:
        run.append(name)
        ratio = Ratio(float(len(run)), 0.01)
        return Section((), {}, {} if name == "bank" else {"a": ratio}, {"examples": 9})

    monkeypatch.setattr(Bench, "run", timed)
    one = Bench(SMALL, ["ucb"])
    found = {name: one.run(name) for name in ("looks", "rounds", "bank")}
    again = one.run_again(found, 3)
    assert run == ["looks", "rounds", "bank", "looks", "rounds", "looks", "rounds"]
    assert list(again) == ["looks", "rounds"]
    assert again["looks"].ratios["a"].value == 4.0
    assert again["looks"].conditions == {"examples": 9}
    assert found["looks"].ratios["a"].value == 1.0


def test_rounds_on_a_data_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "STANDARD", SMALL)
    options = ["--data", "digits", "--only", "rounds", "--strategies", "mas-naive", "--rounds", "3"]
    assert main(["bench", "--quiet", *options]) == 0
    printed = capsys.readouterr().out
    assert "milliseconds of 3 rounds" in printed
    assert "mas-naive" in printed
    assert "note: rounds: not compared, data is digits here and made data" in printed
