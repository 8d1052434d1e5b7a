"""Calibrate planning: measure the true edges that searches of Q features on T examples find.

At chosen rounds of a run, with the weights before the round's search, for each candidate (Q,T):
draw Q features uniformly and T examples by their weights, search, and compute the true edge G of
the winner on all N examples, with votes chosen as in the loop. The mean over repeats is E[G*],
which [DF11] eq. 9-13 predict from a model of the edges. It is compared with the prediction of the
strategy and with the edge that the strategy gets, which is measured by replaying its round with
other random numbers.

With a learner of several searches a round, the run is that of the learner, and what is measured
and replayed is the first search of the round, of the first term or the root.

Measurements use copies and separate random streams, so that the run has the same bits without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank_forms import make_bank
from boostsample.checks import MOST_REPEATS, check_count
from boostsample.errors import BoostSampleError, SettingError, StrategyError, one_line
from boostsample.experiments.calibration.points import (
    CHOICE_COLUMNS,
    POINT_COLUMNS,
    PointMeasurer,
    candidate_points,
    chosen_point,
    point_model,
    predict_point,
)
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import Variant
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.planning.mixture import Mixture
from boostsample.rows.sampling_schemes import unbiased_scheme

DEFAULT_PLAN = Plan(strategies=(Variant("mas-naive"),), marks=(3, 30, 100, 300), repeats=1)
DEFAULT_REPEATS = 200
_POINTS, _BEST, _REPLAY, _NOISE = range(4)  # random streams of a round
_NOISE_FEATURES, _NOISE_SAMPLES = 64, 10

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """The measurements of one run.

    `rows` have `POINT_COLUMNS`: by round, the points by T and then Q, and the strategy last.
    `choices` have `CHOICE_COLUMNS`, one for each round. `models` has for each round the strategy's
    model of the edge of a uniformly drawn feature, if it noted one.
    """

    prepared: Prepared
    repeats: int  # searches of each point, and replays of each round
    scheme: str  # by which examples are drawn at the points
    rows: list[dict[str, Any]]
    choices: list[dict[str, Any]]
    models: dict[int, Mixture]
    notes: tuple[str, ...]

    @property
    def variant(self) -> Variant:
        """The strategy of the run."""
        return self.prepared.variants[0]

    @property
    def mean_share(self) -> tuple[float, float]:
        """Mean of `share` over the rounds, with its standard error."""
        n = len(self.choices)
        mean = sum(choice["share"] for choice in self.choices) / n
        return mean, math.hypot(*(choice["share_error"] for choice in self.choices)) / n

    @property
    def n_examples(self) -> int:
        """N, the number of training examples."""
        return self.prepared.pool(0).n_examples

    @property
    def budget(self) -> int:
        """Budget of a search of the run, in looks."""
        return self.prepared.budget(self.variant, 0)

    def points(self, mark: int) -> list[dict[str, Any]]:
        """The rows of all points of a round, without the strategy's."""
        return [row for row in self.rows if (row["round"], row["kind"]) == (mark, "grid")]

    def along_budget(self, mark: int, also: tuple[int, int] | None = None) -> list[dict[str, Any]]:
        """The rows of a round that spend the budget or all examples, of `also`, the strategy's."""

        def wanted(row: dict[str, Any]) -> bool:
            q, t = row["n_features"], row["n_examples"]
            spends_all = t == min(self.n_examples, self.budget // q)
            return row["round"] == mark and (
                spends_all or (q, t) == also or row["kind"] == "strategy"
            )

        found = [row for row in self.rows if wanted(row)]
        return sorted(found, key=lambda row: (row["n_features"], -row["n_examples"], row["kind"]))


def check_request(plan: Plan, repeats: int, scheme: str) -> None:
    """Raise SettingError unless `plan` is one run of one strategy and the rest is in range."""
    names = [one.label for variant in plan.variants for one in variant.trained]
    if len(names) != 1:
        raise SettingError(
            f"a calibration needs exactly one strategy, got {', '.join(names)}; "
            "calibrate each in a separate run"
        )
    if plan.repeats != 1:
        raise SettingError(
            f"a calibration needs a plan of one repetition, got repeats={plan.repeats}; "
            "another seed gives another run"
        )
    check_count("repeats", repeats, MOST_REPEATS, 2)
    unbiased_scheme(scheme)


def calibrate(
    data: Dataset,
    plan: Plan = DEFAULT_PLAN,
    *,
    repeats: int = DEFAULT_REPEATS,
    scheme: str = "iid",
    progress: Progress | None = None,
) -> Calibration:
    """Measure E[G*] at rounds of a run, with the predictions and choices of its strategy.

    The run has the same bits as the first repetition of the same plan in `compare`. Each calibrated
    round costs `repeats` times one search at full budget for each doubling of Q up to F, and one
    replay.

    Parameters
    ----------
    plan : Plan
        One strategy and one repetition; `marks` are the rounds to calibrate.
    repeats : int
        Searches of each point and replays of each round, at least 2.
    scheme : str
        Scheme by which examples are drawn at the points, see `boostsample.rows.sampling_schemes`.
    progress : callable, optional
        See `boostsample.experiments.common.progress.Progress`.

    Raises
    ------
    SettingError, DataError
        See `boostsample.experiments.plan.prepared.prepare`.

    Examples
    --------
    >>> from boostsample.experiments.data.datasets import load_dataset
    >>> plan = Plan(strategies=(Variant("mas-naive"),), marks=(2, 5), repeats=1)
    >>> found = calibrate(load_dataset("chess"), plan, repeats=5)
    >>> [choice["round"] for choice in found.choices]
    [2, 5]
    """
    check_request(plan, repeats, scheme)
    prepared = prepare(data, plan)
    report = progress or (lambda stage, done, total: None)
    run = _Run(prepared, report)
    rows: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    models: dict[int, Mixture] = {}
    for mark in plan.marks:
        run.advance_to(mark - 1, report)
        if run.booster.finished:
            break
        measured, choice, model = _calibrate_round(run, mark, repeats, scheme, report)
        rows += measured
        choices.append(choice)
        if model is not None:
            models[mark] = model
    missed = ", ".join(str(mark) for mark in plan.marks[len(choices) :])
    note = (
        f"{run.variant.label}: training ended in round {run.booster.round} ({run.stopped}); there "
        f"is no round {missed} to calibrate"
    )
    if not choices:
        raise SettingError(f"{note}; name earlier rounds")
    notes = (note,) if missed else ()
    return Calibration(prepared, repeats, scheme, rows, choices, models, notes)


class _Run:
    """The run, a twin on which rounds are replayed, and the measurer."""

    def __init__(self, prepared: Prepared, report: Progress) -> None:
        data, plan = prepared.data, prepared.plan
        train_rows, _ = prepared.splits[0]
        labels = encode(data.y[train_rows], data.n_classes)
        bank = make_bank(
            plan.bank.name,
            prepared.families,
            data.X,
            train_rows,
            progress=partial(report, "features"),
            n_jobs=-1 if plan.n_jobs is None else plan.n_jobs,
            name=data.name,
            **plan.bank.settings,
        )
        self.data_name = data.name
        self.pool = prepared.pool(0)
        self.variant = prepared.variants[0]
        self.seeds = self.variant.stream(data.seeded_by, plan.seed, 0)
        self.stopped = ""
        report("compiling", 0, 1)
        self.booster, self.twin = (
            Booster(
                bank,
                train_rows,
                labels,
                self.variant.strategy(),
                plan.learner,
                n_rounds=plan.n_rounds,
                budget=prepared.budget(self.variant, 0),
                weight_init=plan.weights,
                rng=np.random.default_rng(self.seeds),
                **plan.step_settings,
            )
            for _ in range(2)
        )
        report("compiling", 1, 1)
        self.measurer = PointMeasurer(bank, train_rows, labels, plan.weights)

    def advance_to(self, n_rounds: int, report: Progress) -> None:
        """Boost until that many rounds are done."""
        while self.booster.round < n_rounds and not self.booster.finished:
            self.next_row(self.booster)
            report("boosting", self.booster.round, self.booster.n_rounds)

    def replay(self, state: Mapping[str, Any], seeds: np.random.SeedSequence) -> tuple[Any, Any]:
        """G and H of the round after `state`, with other random numbers."""
        rng = np.random.default_rng(seeds).bit_generator.state
        self.twin.restore({**state, "rng": rng})
        row = self.next_row(self.twin)
        return row["edge"], row["edge_estimated"]

    def next_row(self, booster: Booster) -> dict[str, Any]:
        """Do one round and return the row of its first search; errors name strategy and round."""
        try:
            row = booster.next_round().rows[0]
        except (BoostSampleError, MemoryError):
            raise
        except Exception as error:
            raise StrategyError(
                f"calibration stopped: strategy {self.variant.label!r} failed in round "
                f"{booster.round + 1}: {type(error).__name__}: {one_line(error)}"
            ) from error
        if booster is self.booster:
            self.stopped = row["stopped"]
        return row

    def stream(self, mark: int, part: int) -> np.random.SeedSequence:
        """Random numbers of one part of one round, independent of the run and of all others."""
        return np.random.SeedSequence(self.seeds.entropy, spawn_key=(mark, part))


def _calibrate_round(
    run: _Run, mark: int, repeats: int, scheme: str, report: Progress
) -> tuple[list[dict[str, Any]], dict[str, Any], Mixture | None]:
    """Do the next round of the run and measure it: its rows, its choice and the model."""
    state = run.booster.state()
    row = run.next_row(run.booster)
    run.measurer.restore(state)
    columns = candidate_points(run.pool.n_features, run.pool.n_examples, run.booster.budget)
    points = [(q, t) for t, sizes in columns.items() for q in sizes]
    edges = np.empty((repeats, len(points), 2))
    replays = np.empty((repeats, 2))
    rng = np.random.default_rng(run.stream(mark, _POINTS))
    seeds = run.stream(mark, _REPLAY).spawn(repeats)
    for at in range(repeats):
        report(f"measuring round {mark}", at, repeats)
        edges[at] = run.measurer.measure(columns, scheme, rng)
        replays[at] = run.replay(state, seeds[at])
    q, t = points[int(np.argmax(edges[:, :, 0].mean(axis=0)))]
    # The largest of many means is too large, so that the best point is measured again.
    rng = np.random.default_rng(run.stream(mark, _BEST))
    again = [run.measurer.measure({t: (q,)}, scheme, rng)[0] for _ in range(repeats)]
    report(f"measuring round {mark}", repeats, repeats)

    model = point_model(row, [family.size for family in run.pool.families])
    chosen = chosen_point(row, run.pool.families)
    worth = _worth(_summary(replays), (q, t), _summary(np.array(again)))
    noise = _noise(run, mark, [chosen["n_examples"], *columns], scheme)
    choice: dict[str, Any] = dict(
        zip(CHOICE_COLUMNS, (*chosen.values(), *worth, *noise), strict=True)
    )
    measured: list[tuple[Any, ...]] = []
    for at, (q, t) in enumerate(points):
        predicted = None if model is None else predict_point(model, q, t, run.pool.n_examples)
        measured.append(("grid", q, t, *_summary(edges[:, at]), predicted))
    place = choice["n_features"], choice["n_examples"]
    measured.append(("strategy", *place, *_summary(replays), choice["edge_predicted"]))
    first = run.data_name, run.variant.name, run.variant.settings_text, mark
    rows = [dict(zip(POINT_COLUMNS, (*first, *each, repeats), strict=True)) for each in measured]
    return rows, choice, model


def _summary(found: Values) -> tuple[float, float, float]:
    """Mean G of searches (n, 2), its standard error, and mean H."""
    edges = found[:, 0]
    error = edges.std(ddof=1) / math.sqrt(edges.size)
    return float(edges.mean()), float(error), float(found[:, 1].mean())


def _worth(
    mine: tuple[float, float, float], point: tuple[int, int], best: tuple[float, float, float]
) -> tuple[float, ...]:
    """`edge_expected` to `share_error` of a choice; the share is NaN if no edge was found."""
    share = error = math.nan
    if mine[0] > 0 and best[0] > 0:
        share = mine[0] / best[0]
        error = share * math.hypot(mine[1] / mine[0], best[1] / best[0])
    return (*mine[:2], *point, *best[:2], share, error)


def _noise(run: _Run, mark: int, examples: Sequence[int], scheme: str) -> tuple[Any, ...]:
    """T, bias and variance of edges on the first of these T below N; None if all are N."""
    n_features = min(_NOISE_FEATURES, run.pool.n_features)
    size = next((t for t in examples if t < run.pool.n_examples), None)
    if size is None or n_features < 2:
        return (None, None, None)
    rng = np.random.default_rng(run.stream(mark, _NOISE))
    found = [run.measurer.noise(n_features, size, scheme, rng) for _ in range(_NOISE_SAMPLES)]
    return (size, *np.mean(found, axis=0).tolist())
