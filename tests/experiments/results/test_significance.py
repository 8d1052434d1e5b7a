"""Tests of differences, beside scipy's, definitions written out, and published numbers."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, ttest_rel

from boostsample.errors import SettingError
from boostsample.experiments.results.significance import (
    critical_difference,
    friedman,
    holm,
    paired_test,
    ranks,
    told_apart,
)

# Demsar 2006, Table 6: AUC of C4.5 without and with tuned m, cf, and both. The printed AUC of
# "voting" are equal for the last two, but their printed ranks are not: a digit beyond decides.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_without_overlap_it_is_students_paired_test(rng: np.random.Generator, n: int) -> None:
    for shift in (0.0, 0.3, 3.0):
        first, second = rng.normal(size=n), rng.normal(shift, size=n)
        assert paired_test(first, second) == pytest.approx(
            ttest_rel(first, second).pvalue, rel=1e-9
        )
        assert paired_test(second, first) == paired_test(first, second)
        assert paired_test(first, second, 1 / 3) > paired_test(first, second)


@pytest.mark.parametrize(("overlap", "plain_rejects"), [(1 / 3, 0.25), (1.0, 0.45)])
def test_the_corrected_variance_holds_the_level(
    rng: np.random.Generator, overlap: float, plain_rejects: float
) -> None:
    # Differences with correlation n_test / (n_test + n_train), as Nadeau and Bengio assume: then
    # the corrected statistic has Student's distribution, and the plain test rejects too often.
    correlation = overlap / (1 + overlap)
    n, tries = 10, 4000
    common = math.sqrt(correlation) * rng.normal(size=(tries, 1))
    differences = common + math.sqrt(1 - correlation) * rng.normal(size=(tries, n))
    zero = np.zeros(n)
    corrected = np.mean([paired_test(sample, zero, overlap) <= 0.05 for sample in differences])
    plain = np.mean([paired_test(sample, zero) <= 0.05 for sample in differences])
    assert corrected == pytest.approx(0.05, abs=0.012)  # 3.5 standard errors
    assert plain > plain_rejects


def test_differences_without_variance() -> None:
    assert paired_test([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert paired_test([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], 0.5) == 0.0
    assert paired_test([-math.inf, -math.inf], [-math.inf, -math.inf]) == 1.0
    assert paired_test([-math.inf, -math.inf], [0.0, 1.0]) == 0.0


def rejected_by_holm(p_values: list[float], level: float) -> list[bool]:
    """Holm 1979: from the smallest on, reject while it is at most level / hypotheses left."""
    rejected = [False] * len(p_values)
    left = len(p_values)
    for at in sorted(range(len(p_values)), key=lambda at: p_values[at]):
        if p_values[at] * left > level:
            break
        rejected[at] = True
        left -= 1
    return rejected


def test_holm_rejects_what_its_definition_does(rng: np.random.Generator) -> None:
    assert holm([]) == []
    for _ in range(300):
        p_values = (rng.random(rng.integers(1, 12)) ** 3).tolist()
        if rng.random() < 0.3:
            p_values[-1] = p_values[0]
        corrected = holm(p_values)
        assert all(p <= q <= 1 for p, q in zip(p_values, corrected, strict=True))
        for level in (0.001, 0.01, 0.05, 0.1, 0.5):
            expected = rejected_by_holm(p_values, level)
            assert [q <= level for q in corrected] == expected


def test_the_best_and_those_not_told_from_it(rng: np.random.Generator) -> None:
    base = rng.normal(size=10)
    values = {
        "worse": dict(enumerate(base + 1 + 0.01 * rng.normal(size=10))),
        "best": dict(enumerate(base)),
        "near": dict(enumerate(base + 0.01 + 0.1 * rng.normal(size=10))),
        "same": dict(enumerate(base)),
        "once": {3: 100.0},
        "never": {},
    }
    verdict = told_apart(values)
    assert verdict.best == "best"
    assert verdict.tied == {"near", "same"}
    assert verdict.untested == {"once"}
    raw = [paired_test(list(values[method].values()), base) for method in ("worse", "near", "same")]
    assert list(verdict.p_values.items()) == list(
        zip(("worse", "near", "same"), holm(raw), strict=True)
    )
    upside_down = {
        label: {r: -v for r, v in by_repetition.items()} for label, by_repetition in values.items()
    }
    assert told_apart(upside_down, lower_is_better=False) == verdict
    assert told_apart(upside_down).best == "once"


def test_holm_counts_and_pairs_are_by_repetition() -> None:
    a = {0: 1.0, 1: 2.0, 2: 4.0, 7: 0.0}
    b = {2: 4.6, 1: 2.5, 0: 1.4, 9: 50.0}
    verdict = told_apart({"b": b, "a": a})
    assert verdict.best == "a"
    expected = ttest_rel([1.0, 2.0, 4.0], [1.4, 2.5, 4.6]).pvalue
    assert verdict.p_values["b"] == pytest.approx(expected)
    three = told_apart({"b": b, "a": a, "c": b})
    assert three.p_values["c"] == pytest.approx(2 * expected)


def test_one_strategy_is_no_best() -> None:
    assert told_apart({"a": {0: 1.0, 1: 2.0}, "b": {}}).best is None
    assert told_apart({}).best is None


def test_ranks_of_the_published_example() -> None:
    mean = ranks(DEMSAR, lower_is_better=False)
    assert mean.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    assert ranks(-DEMSAR).tolist() == mean.tolist()
    # The paper's 9.28 does not correct for ties; its formula with these ranks does give it.
    assert 12 * 14 / 20 * ((mean**2).sum() - 4 * 25 / 4) == pytest.approx(9.28, abs=0.005)


# Percentages of 1, 5 and 5, and of 2, 2 and 7, of 30 test examples have the same mean.
EQUAL_MEANS = [[100 * wrong / 30 for wrong in wrongs] for wrongs in ((1, 5, 5), (2, 2, 7))]


def test_means_that_differ_by_rounding_are_ties() -> None:
    first, second = (statistics.fmean(errors) for errors in EQUAL_MEANS)
    assert first > second
    assert ranks([[first, second, 40.0], [first, second, 30.0]]).tolist() == [1.5, 1.5, 3.0]
    assert friedman([[first, second, first], [second, second, first]]) == (0.0, 1.0)
    verdict = told_apart(dict(zip("ab", (dict(enumerate(of)) for of in EQUAL_MEANS), strict=True)))
    assert (verdict.best, [*verdict.tied]) == ("a", ["b"])


def test_friedman_is_scipys_but_where_nothing_differs() -> None:
    expected = friedmanchisquare(*DEMSAR.T)
    assert friedman(DEMSAR) == pytest.approx((expected.statistic, expected.pvalue))
    assert friedman(np.ones((5, 3))) == (0.0, 1.0)


@pytest.mark.parametrize("shape", [(1, 4), (5, 2)])
def test_friedman_needs_enough(shape: tuple[int, int]) -> None:
    with pytest.raises(SettingError, match="at least two data sets and three methods, got"):
        friedman(np.zeros(shape))


def test_missing_values_have_no_rank() -> None:
    with pytest.raises(SettingError, match="every method on every data set, and 2 are missing"):
        ranks([[1.0, math.nan], [math.nan, 2.0]])


def test_the_published_critical_values() -> None:
    # Demsar 2006, Table 5, which was rounded from a rounded table: good to one in its last digit.
    published = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for n_methods, value in enumerate(published, start=2):
        unit = math.sqrt(n_methods * (n_methods + 1) / (6 * 20))
        difference = critical_difference(n_methods, 20) / unit
        assert difference == pytest.approx(value, abs=1.1e-3), n_methods
