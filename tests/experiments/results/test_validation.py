"""Validation: the choice equals a plain loop over rows, and folders that do not fit are refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.tasks import growth_points
from boostsample.experiments.results.read_folder import Results, read_results
from boostsample.experiments.results.validation import choose, score_choices
from boostsample.experiments.tables.formats import to_markdown, to_text
from boostsample.experiments.tables.validation_table import (
    VALIDATION_COLUMNS,
    validation_csv,
    validation_tables,
)
from tests.experiments.conftest import CommandLine
from tests.experiments.fake_results import curve, results

POINTS = sorted(growth_points(100, 4) | {10})
HELD, FULL = "made:validation=0.2", "made"
VARIANTS = [("full", ""), ("exp3p", "mixing=0.1"), ("exp3p", "mixing=0.3"), ("exp3p", "")]


def bowl(
    data: str, strategy: str, settings: str, repetition: int, *, least: int = 40, **changes: Any
) -> list[dict[str, Any]]:
    """A noisy run whose error is about 20 % at `least` stumps and rises to both sides."""
    rows = curve(strategy, repetition, data=data, settings=settings, points=POINTS, **changes)
    rng = np.random.default_rng([repetition, len(strategy), *settings.encode()])
    noise = rng.normal(0, 2, len(rows))
    return [
        {**row, "test_error": 20 + 9 * abs(math.log(row["stumps"] / least)) + float(extra)}
        for row, extra in zip(rows, noise, strict=True)
    ]


def folder(data: str = HELD, variants: Any = VARIANTS, **settings: Any) -> Results:
    runs = [
        bowl(data, strategy, of_strategy, repetition)
        for strategy, of_strategy in variants
        for repetition in range(3)
    ]
    return results(runs, **settings)


def by_loop(rows: list[dict[str, Any]], strategy: str) -> tuple[str, int, list[float]]:
    """Settings, T and errors with the least mean smoothed error, by loops over rows."""
    best: tuple[float, str, int, list[float]] = (math.inf, "", 0, [])
    variants = list(dict.fromkeys(r["settings"] for r in rows if r["strategy"] == strategy))
    for settings in variants:
        mine = [r for r in rows if (r["strategy"], r["settings"]) == (strategy, settings)]
        last = max(r["stumps"] for r in mine)
        for stumps in sorted({r["stumps"] for r in mine}):
            if 6 * stumps > 5 * last:
                continue
            errors = []
            for repetition in sorted({r["repetition"] for r in mine}):
                terms = [
                    r["test_error"]
                    for r in mine
                    if r["repetition"] == repetition and 4 * stumps <= 5 * r["stumps"] <= 6 * stumps
                ]
                errors.append(sum(terms) / len(terms))
            mean = sum(errors) / len(errors)
            if mean < best[0] - 1e-12:
                best = (mean, settings, stumps, errors)
    return best[1:]


def test_the_choice_is_that_of_loops_over_the_rows() -> None:
    validation, test = folder(), folder(FULL)
    choices = choose(validation)
    assert [one.strategy for one in choices] == ["full", "exp3p"]
    for choice, score in zip(choices, score_choices(choices, validation, test), strict=True):
        settings, stumps, errors = by_loop(validation.curves, choice.strategy)
        assert (choice.settings, choice.stumps) == (settings, stumps)
        assert choice.errors == pytest.approx(errors)
        assert not choice.at_end
        own = [row for row in test.curves if row["settings"] == settings]
        own = [row for row in own if row["strategy"] == choice.strategy]
        window = [row for row in own if 4 * stumps <= 5 * row["stumps"] <= 6 * stumps]
        for repetition, error in enumerate(score.errors):
            terms = [row["test_error"] for row in window if row["repetition"] == repetition]
            assert error == pytest.approx(sum(terms) / len(terms))
            assert choice.n_scored == score.n_scored == len(terms)
        at = [row for row in own if row["stumps"] == stumps]
        assert score.looks == pytest.approx(sum(row["looks"] for row in at) / 3)
        assert score.seconds == pytest.approx(sum(row["seconds"] for row in at) / 3)
    assert [one.n_variants for one in choices] == [1, 3]


def test_errors_that_differ_by_rounding_are_ties() -> None:
    """1, 5 and 5 rows are as many as 2, 2 and 7: the first variant and T are chosen."""
    rows = [
        {**row, "test_error": 100 * wrong / 30}
        for settings, wrongs in (("a=1", (1, 5, 5)), ("a=2", (2, 2, 7)))
        for repetition, wrong in enumerate(wrongs)
        for row in curve("ucb", repetition, data=HELD, settings=settings)
    ]
    (choice,) = choose(results([rows]))
    assert (choice.settings, choice.stumps) == ("a=1", 1)


def test_test_errors_have_no_influence_on_the_choice() -> None:
    both = folder()
    rows = folder(FULL).curves
    for scale in (1, -1):
        changed = [{**row, "test_error": scale * row["test_error"]} for row in rows]
        mixed = results([both.curves, changed])
        assert choose(mixed) == choose(both)
        assert len(score_choices(choose(mixed), mixed, mixed)) == 2


def test_learners_are_chosen_for_apart() -> None:
    stumps = folder().curves
    trees = [{**row, "learner": "tree", "test_error": row["test_error"] + 1} for row in stumps]
    full = folder(FULL).curves
    validation, test = results([stumps, trees]), results([full])
    choices = choose(validation)
    assert [(one.strategy, one.learner) for one in choices] == [
        ("full", "stump"),
        ("exp3p", "stump"),
        ("full", "tree"),
        ("exp3p", "tree"),
    ]
    with pytest.raises(SettingError, match="test results lack what validation chose: full with tr"):
        score_choices(choices, validation, test)
    (table,) = validation_tables(choices)
    assert table.header[:3] == ("strategy", "learner", "settings")


def test_setups_are_chosen_for_apart(cli: CommandLine) -> None:
    """Each setup has the choices and scores that its own folder has."""
    data = "chess(d=3,n=120)"
    command = (
        f"compare --data {data}:validation=0.2 --data {data} --strategies laminating,"
        "laminating:n_features=2 --rounds 20 --repeats 2 --score-every 5 --quiet "
    )
    cli(command + "--budget 1N,3N --learner stump,tree:n_leaves=3 --results both")
    cli(command + "--budget 3N --learner tree:n_leaves=3 --results last")
    both, last = read_results("both"), read_results("last")
    choices, alone = choose(both), choose(last)
    assert [choice.name for choice in choices] == [
        "laminating (budget=1N)",
        "laminating (budget=3N)",
    ] * 2
    scores = score_choices(choices, both, both)
    assert replace(choices[-1], axes=()) == alone[0]
    assert replace(scores[-1], seconds=0.0) == replace(
        score_choices(alone, last, last)[0], seconds=0.0
    )
    text = cli("validate both both")
    assert len([line for line in text.splitlines() if line.startswith("laminating (bu")]) == 4
    with pytest.raises(SettingError, match=r"of chess.* must have the same budget, got 1N and 3N"):
        score_choices(choices, both, last)
    cli(command + "--budget 1N,2N --results others")
    with pytest.raises(SettingError, match="test results must have the setup tree:n_leaves=3:budg"):
        score_choices(alone, last, read_results("others"))


def test_a_minimum_at_the_end_is_still_falling() -> None:
    rows = [bowl(HELD, "full", "", one, least=1000) for one in range(2)]
    (choice,) = choose(results(rows))
    assert choice.at_end
    (table,) = validation_tables([choice])
    assert table.rows[0][3] == f"{choice.stumps}+"
    assert any("still falling" in note for note in table.notes)


def test_charged_rows_are_left_out_and_tuned_strategies_are_their_own() -> None:
    variants = [("ucb*", "a=1"), ("ucb* charged", "a=1"), ("ucb", "")]
    assert [one.label for one in choose(folder(variants=variants))] == ["ucb*", "ucb"]


def test_a_run_that_ended_early_keeps_its_last_error() -> None:
    flat = bowl(HELD, "full", "", 0)
    ended = [
        {**row, "looks": min(row["looks"], 20_000), "test_error": 30.0}
        for row in flat
        if row["stumps"] <= 20 or row["stumps"] == 100
    ]
    (choice,) = choose(results([[{**row, "repetition": 1} for row in ended], flat]))
    assert choice.errors[0] == 30.0
    assert choice.stumps > 20


@pytest.mark.parametrize(
    ("validation", "test", "says"),
    [
        (folder(FULL), folder(FULL), r"option validation, got made; run .* made:validation=0\.2"),
        (folder(), folder(), "must have the data set made, as made:validation=0.2 holds"),
        (folder(), folder(FULL, VARIANTS[1:]), "lack what validation chose: full with stump; tr"),
        (folder(seed=0), folder(FULL, seed=1), "must have the same seed, got 0 and 1"),
    ],
)
def test_folders_that_do_not_fit_are_refused(validation: Results, test: Results, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        score_choices(choose(validation), validation, test)


def test_incomplete_folders_and_short_runs_are_refused() -> None:
    whole = folder()
    with pytest.raises(DataError, match=r"the validation results must .*, got 2 runs missing"):
        choose(replace(whole, missing=2))
    choices = choose(whole)
    test = folder(FULL)
    with pytest.raises(DataError, match="the test results must"):
        score_choices(choices, whole, replace(test, missing=1))
    short = replace(test, table=test.table[test.table["stumps"] <= 30])
    needed = math.ceil(6 * choices[0].stumps / 5)
    with pytest.raises(DataError, match=rf"must have {needed} rounds or more .* got 30 rounds"):
        score_choices(choices, whole, short)
    one_round = replace(whole, table=whole.table[whole.table["stumps"] == 1])
    with pytest.raises(DataError, match="train more rounds"):
        choose(one_round)


def test_tables_have_choices_and_scores() -> None:
    validation, test = folder(), folder(FULL)
    choices = choose(validation)
    scores = score_choices(choices, validation, test)
    (table,) = validation_tables(choices, scores)
    assert table.header == (
        *("strategy", "settings", "variants", "T"),
        *("validation error", "test error", "looks", "seconds"),
    )
    for text in (to_text(table), to_markdown(table)):
        assert f"{np.mean(scores[1].errors):.2f}" in text
        assert "test rows had no influence" in text
    lines = [line.split(",") for line in validation_csv(choices, scores).splitlines()]
    assert lines[0] == list(VALIDATION_COLUMNS)
    found = dict(zip(lines[0], lines[2], strict=True))
    assert (found["strategy"], found["variants"]) == ("exp3p", "3")
    assert float(found["test_mean"]) == pytest.approx(np.mean(scores[1].errors))
