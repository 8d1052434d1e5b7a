"""Seconds to a given test error: data, strategies and rules of a race, its clock, its table.

Every method has the same columns of the same rows, computed beforehand; the clock runs in training.
Test errors are taken after each of the first hundred iterations, then whenever these have grown by
2 %. The time of a run is the clock at the first of these points with an error low enough.
"""

from __future__ import annotations

import gc
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.checks import MOST_REPEATS, check_count, check_integer, check_number
from boostsample.errors import BoostSampleError, DataError, SettingError, one_line
from boostsample.experiments.common.machine import machine, version_of, versions
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.tables.tables import Table
from boostsample.families import Columns
from boostsample.files.atomic import write_file
from boostsample.labels import classify, encode
from boostsample.loop.booster import Booster
from boostsample.models.scoring import TermArrays
from boostsample.names import Alternatives
from boostsample.registry import default_families

FORMAT = 2
_USUAL_COLUMNS = 2000
_WARM_UP_ROWS = 500
_STEP = 1.02  # iterations at a point over those at the point before
_GROWTH = 3  # iterations of a whole fit over those of the fit before


class RaceJob(NamedTuple):
    """Columns to learn from and to test on: X float32 (n, F), NaN is missing; y int64 codes."""

    name: str
    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    n_classes: int
    families: tuple[Columns, ...]  # the columns of each, as boostsample's strategies see them
    n_jobs: int = 1  # threads of every method
    n_rounds: int = 10_000  # iterations at most


def make_race_job(data: Dataset, n_columns: int | None = None, seed: int = 0) -> RaceJob:
    """Draw columns uniformly from the default families of a data set and compute them.

    `n_columns` None is 2,000, or all features if there are fewer. `seed` is that of the columns,
    the families and the split, the data set's first. SettingError if there are fewer features than
    columns, DataError if rows have several labels.
    """
    if data.is_multilabel:
        raise DataError(
            f"{data.name}: a race needs one class a row, got {data.n_classes} labels a row; "
            "the peers have no multi-label learner"
        )
    families = default_families(data.X.shape[1:], seed=seed, column_names=data.columns)
    first = np.cumsum([0, *(family.n_features for family in families)])
    total = int(first[-1])
    n = check_integer("columns", min(_USUAL_COLUMNS, total) if n_columns is None else n_columns, 1)
    if n > total:
        raise SettingError(
            f"columns must be at most the {total:,} features of the families of {data.name}, got "
            f"{n:,}"
        )
    drawn = np.sort(np.random.default_rng(seed).choice(total, n, replace=False))
    train, test = data.split(0, seed)
    rows = np.concatenate([train, test])
    X, y = data.X[rows], data.y[rows].astype(np.int64)
    matrix = np.empty((rows.size, n), np.float32)
    groups = []
    for number, family in enumerate(families):
        low, high = (int(at) for at in np.searchsorted(drawn, first[number : number + 2]))
        if low < high:
            matrix[:, low:high] = family.compute(X, drawn[low:high] - first[number])
            groups.append(Columns(range(low, high), family.name, n_columns=n))
    (X, X_test), (y, y_test) = np.split(matrix, [train.size]), np.split(y, [train.size])
    return RaceJob(data.name, X, y, X_test, y_test, data.n_classes, tuple(groups))


def warm_up_race_job(job: RaceJob) -> RaceJob:
    """Two iterations on a few hundred rows of all classes."""
    _, first = np.unique(job.y_train, return_index=True)
    rows = np.union1d(first, np.arange(min(_WARM_UP_ROWS, job.y_train.size)))
    small = job._replace(X_train=job.X_train[rows], y_train=job.y_train[rows], n_rounds=2)
    return small._replace(X_test=job.X_test[:_WARM_UP_ROWS], y_test=job.y_test[:_WARM_UP_ROWS])


class RaceMethod(NamedTuple):
    """A strategy or a peer: `start(job, seed)`, or `start(job, seed, n_iterations)` if `whole`.

    `start` is a generator: it prepares and yields a function of iterations (first, end) that
    returns the scores they add to the test rows; then each `next` does one iteration, until nothing
    is left to learn. A `whole` method cannot pause: it returns a fitted classifier with
    `staged_predict`.
    """

    name: str
    settings: str
    start: Callable[..., Any]
    whole: bool = False


def race_variants(text: str) -> tuple[Variant, ...]:
    """Names with one value for each setting."""
    variants = parse_names(text)
    for variant in variants:
        for setting, value in variant.settings.items():
            if isinstance(value, Alternatives):
                raise SettingError(
                    f"{variant.name}: {setting}={value} are alternatives, but a race does not "
                    "tune; give the name once for each value"
                )
    return variants


def strategy_race_method(variant: Variant, plan: Plan) -> RaceMethod:
    """A strategy with the budget and the initial weights of a plan; its bank counts as bins."""

    def start(job: RaceJob, seed: int) -> Iterator[Any]:
        booster = Booster(
            FeatureBank.build(job.families, job.X_train, n_jobs=job.n_jobs),
            None,
            encode(job.y_train, job.n_classes),
            variant.strategy(),
            plan.learner,
            n_rounds=job.n_rounds,
            budget=plan.looks(job.y_train.size),
            weight_init=plan.weights,
            rng=np.random.default_rng(variant.stream(job.name, seed, 0)),
            n_jobs=job.n_jobs,
            **plan.step_settings,
        )
        rounds: list[Any] = []

        def scores(first: int, end: int) -> Any:
            total = np.zeros((job.y_test.size, job.n_classes if job.n_classes > 2 else 1))
            terms = TermArrays([*itertools.chain(*rounds[first:end])], total.shape[1])
            value = np.array([term.value for one in rounds[first:end] for term in one])
            sides = value[:, None] <= job.X_test[:, terms.feature].T
            terms.add_scores(sides, slice(0, value.size), total)
            return total

        yield scores
        while not booster.finished:
            rounds.append(booster.next_round().terms)
            yield True

    return RaceMethod(variant.label, variant.settings_text, start)


class RaceClock:
    """Adds up the seconds of the calls made through it."""

    seconds = 0.0

    def __call__(self, work: Callable[..., Any], *args: Any) -> Any:
        """Call work(*args) with the clock running."""
        before = time.perf_counter()
        try:
            return work(*args)
        finally:
            self.seconds += time.perf_counter() - before


@dataclass(frozen=True)
class RaceRules:
    """The test error to reach in percent, seconds of a run at most, runs of each method."""

    error: float = 1.5
    limit: float = 120.0
    repeats: int = 3  # with the seeds seed, seed + 1, ...
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("error", self.error, 0, 100)
        check_number("limit", self.limit, 0, above=True)
        check_count("repeats", self.repeats, MOST_REPEATS)
        check_integer("seed", self.seed, 0)


@dataclass
class RaceRun:
    """One run of a method; `curve` has iterations, seconds and test error of each point."""

    method: str
    settings: str
    seed: int
    ended: str = ""  # "reached" the error, "limit" of seconds, "rounds" or "nothing left" to learn
    prepared: float | None = None  # seconds for bins or data set; None for whole fits
    seconds: float = 0.0
    iterations: int = 0
    error: float = 100.0
    curve: list[tuple[int, float, float]] = field(default_factory=list)

    def add(self, iterations: int, seconds: float, error: float) -> None:
        """Add a point of the curve."""
        self.iterations, self.seconds, self.error = iterations, seconds, error
        self.curve.append((iterations, seconds, error))


def race(
    job: RaceJob, methods: Sequence[RaceMethod], rules: RaceRules, progress: Progress
) -> list[RaceRun]:
    """Time all methods, which take turns; one that misses the error does not run again.

    SettingError, before anything is timed, if a method fails with its settings.
    """
    small = warm_up_race_job(job)  # compiles kernels, loads libraries, checks settings
    for number, method in enumerate(methods):
        progress("warming up", number, len(methods))
        try:
            time_race_run(small, method, RaceRules(error=0.0), rules.seed)
        except (BoostSampleError, MemoryError):
            raise
        except Exception as error:
            raise SettingError(
                f"{method.name} does not run: {type(error).__name__}: {one_line(error)}"
            ) from error
    progress("warming up", len(methods), len(methods))
    runs: list[RaceRun] = []
    turns = list(itertools.product(range(rules.repeats), methods))
    for number, (repeat, method) in enumerate(turns):
        if all(run.ended == "reached" for run in runs if run.method == method.name):
            progress(method.name, number, len(turns))
            runs.append(time_race_run(job, method, rules, rules.seed + repeat))
    progress(runs[-1].method, len(turns), len(turns))
    return runs


def time_race_run(job: RaceJob, method: RaceMethod, rules: RaceRules, seed: int) -> RaceRun:
    """Time one run of a method."""
    gc.collect()  # so that this run does not pay for earlier ones
    run = RaceRun(method.name, method.settings, seed)
    (_time_whole if method.whole else _time_pausing)(run, method, job, rules)
    return run


def _error(predicted: Any, job: RaceJob) -> float:
    """Test error in percent."""
    return 100.0 * int(np.count_nonzero(predicted != job.y_test)) / job.y_test.size


def _time_pausing(run: RaceRun, method: RaceMethod, job: RaceJob, rules: RaceRules) -> None:
    """Go on until something ends the run."""
    clock, iterations = RaceClock(), method.start(job, run.seed)
    scores_of = clock(next, iterations)
    run.prepared, scores = clock.seconds, 0.0
    done = due = 0
    while not run.ended:
        if not clock(next, iterations, False):
            run.ended = "nothing left"
        elif clock.seconds >= rules.limit:
            run.ended, done = "limit", done + 1
        else:
            run.ended, done = "rounds" if done + 1 == job.n_rounds else "", done + 1
        if done > run.iterations and (done >= due or run.ended):
            scores = scores + scores_of(run.iterations, done)
            run.add(done, clock.seconds, _error(classify(scores), job))
            run.ended = "reached" if run.error <= rules.error else run.ended
            due = max(done + 1, int(done * _STEP))


def _time_whole(run: RaceRun, method: RaceMethod, job: RaceJob, rules: RaceRules) -> None:
    """Fit with more and more iterations, then once more with those that the error needs.

    The curve has the end of each fit with its own time. No fit begins that would exceed the limit
    if time grew with iterations.
    """
    n = min(2, job.n_rounds)
    while not run.ended:
        clock = RaceClock()
        fitted = clock(method.start, job, run.seed, n)
        errors = [_error(codes, job) for codes in fitted.staged_predict(job.X_test)]
        found = next((m for m, error in enumerate(errors, 1) if error <= rules.error), 0)
        if 0 < found < len(errors):
            n = found
            continue
        run.add(len(errors), clock.seconds, errors[-1])
        if found:
            run.ended = "reached" if clock.seconds <= rules.limit else "limit"
        elif len(errors) < n:
            run.ended = "nothing left"
        elif n >= job.n_rounds:
            run.ended = "rounds"
        elif _GROWTH * clock.seconds > rules.limit:
            run.ended = "limit"
        n = min(_GROWTH * n, job.n_rounds)


def race_table(runs: Sequence[RaceRun], rules: RaceRules) -> Table:
    """The median run of each method by seconds, runs that missed the error last."""
    by_method: dict[str, list[RaceRun]] = {}
    for run in sorted(runs, key=lambda run: (run.ended != "reached", run.seconds)):
        by_method.setdefault(run.method, []).append(run)
    medians = {name: mine[(len(mine) - 1) // 2] for name, mine in by_method.items()}
    base = medians[runs[0].method]
    rows = []
    for name in dict.fromkeys(run.method for run in runs):
        run = medians[name]
        above, why = ("", "") if run.ended == "reached" else ("> ", f" ({run.ended})")
        rows.append(
            (
                name,
                "-" if run.prepared is None else f"{run.prepared:.2f}",
                f"{above}{run.seconds:.2f}{why}",
                str(len(by_method[name])),
                f"{run.iterations:,}",
                f"{min((error for *_, error in run.curve), default=100.0):.2f}",
                f"{above}{run.seconds / base.seconds:.2f}" if base.ended == "reached" else "-",
            )
        )
    return Table(
        f"seconds to a test error of {rules.error:g} %, bins or data set included; the ratio is to "
        f"{base.method}",
        ("method", "bins", "seconds", "runs", "iterations", "error", "ratio"),
        tuple(rows),
    )


def write_race(runs: Sequence[RaceRun], rules: RaceRules, path: Path, **settings: Any) -> None:
    """Write all runs, `settings`, machine and versions to a JSON file; DataError if it fails."""
    peers = {name: version_of(name) for name in ("lightgbm", "xgboost", "xgboost-cpu")}
    created = datetime.now(UTC).isoformat(timespec="seconds")
    facts: dict[str, Any] = {"format": FORMAT, "created": created, "settings": settings}
    facts |= {"rules": asdict(rules), "machine": machine()}
    facts["versions"] = versions() | {name: found for name, found in peers.items() if found}
    facts["methods"] = list(dict.fromkeys(run.method for run in runs))
    facts["runs"] = [asdict(run) for run in runs]
    write_file(path, (json.dumps(facts, indent=1, allow_nan=False) + "\n").encode(), "runs")
