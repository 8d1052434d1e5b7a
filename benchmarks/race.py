"""Time strategies and other libraries to a given test error; see docs/peers.md.

    python -m benchmarks.race
    python -m benchmarks.race --data mnist --data-dir DIR --columns 2000 --jobs 2

All methods train on the same columns, drawn from the default families, as one float32 matrix. The
clock runs in training: binning counts, computing the columns and test errors does not. Test errors
are taken after each of the first hundred iterations, then whenever these have grown by 2 %. The
time of a run is the clock at the first of these points with an error low enough.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.checks import MOST_REPEATS, check_count, check_integer, check_number
from boostsample.errors import BoostSampleError, DataError, SettingError, one_line, unknown
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.tables.formats import to_text
from boostsample.experiments.tables.tables import Table
from boostsample.families import Columns
from boostsample.labels import classify, encode
from boostsample.loop.booster import Booster
from boostsample.models.model import TermArrays
from boostsample.names import Alternatives
from boostsample.registry import default_families
from boostsample.threads import n_threads

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

    def test_error(self, predicted: Any) -> float:
        """Test error in percent."""
        return 100.0 * int(np.count_nonzero(predicted != self.y_test)) / self.y_test.size

    def for_warm_up(self) -> RaceJob:
        """Two iterations on a few hundred rows of all classes."""
        _, first = np.unique(self.y_train, return_index=True)
        rows = np.union1d(first, np.arange(min(500, self.y_train.size)))
        train = self._replace(X_train=self.X_train[rows], y_train=self.y_train[rows], n_rounds=2)
        return train._replace(X_test=self.X_test[:500], y_test=self.y_test[:500])


def make_race_job(data: Dataset, n_columns: int | None = None, seed: int = 0) -> RaceJob:
    """Draw columns uniformly from the default families of a data set and compute them.

    `n_columns` None is 2,000, or all features if there are fewer. `seed` is that of the columns,
    the families and the split, the data set's first.
    """
    if data.is_multilabel:
        raise DataError(
            f"{data.name}: a race needs one class a row, got {data.n_classes} labels a row; "
            "the peers have no multi-label learner"
        )
    families = default_families(data.X.shape[1:], seed=seed, column_names=data.columns)
    first = np.cumsum([0, *(family.n_features for family in families)])
    total = int(first[-1])
    n = check_integer("columns", min(2000, total) if n_columns is None else n_columns, 1)
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


# ----------------------------------------------------------------------------------- the methods


class RaceMethod(NamedTuple):
    """A strategy or a peer: `start(job, seed)`, or `start(job, seed, n_iterations)` if `whole`.

    `start` is a generator: it prepares and yields a function of iterations (first, end) that
    returns the scores they add to the test rows; then each `next` does one iteration, until nothing
    is left to learn. A `whole` method cannot pause: it returns a fitted classifier with
    `staged_predict`.
    """

    name: str
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
            terms = [*itertools.chain(*rounds[first:end])]
            arrays = TermArrays(terms, total.shape[1])
            value = np.array([term.value for term in terms])
            sides = value[:, None] <= job.X_test[:, arrays.feature].T
            arrays.add_scores(sides, slice(0, value.size), total)
            return total

        yield scores
        while not booster.finished:
            rounds.append(booster.next_round().terms)
            yield True

    return RaceMethod(variant.label, start)


def _lightgbm(job: RaceJob, seed: int, settings: Mapping[str, Any]) -> Iterator[Any]:
    """A validation set would be scored inside `Booster.update`, on the clock."""
    lightgbm = importlib.import_module("lightgbm")
    params = {"objective": "multiclass", "num_class": job.n_classes, "max_bin": 255}
    params |= {"num_threads": job.n_jobs, "seed": seed, "verbosity": -1, **settings}
    booster = lightgbm.Booster(params, lightgbm.Dataset(job.X_train, job.y_train, params=params))

    def scores(first: int, end: int) -> Any:
        part = {"start_iteration": first, "num_iteration": end - first, "raw_score": True}
        # The number of threads holds for all of LightGBM, training included.
        return booster.predict(job.X_test, num_threads=job.n_jobs, **part)

    yield scores
    while not booster.update():
        yield True


def _xgboost(job: RaceJob, seed: int, settings: Mapping[str, Any]) -> Iterator[Any]:
    xgboost = importlib.import_module("xgboost")
    params = {"objective": "multi:softprob", "num_class": job.n_classes, "max_bin": 256}
    params |= {"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0}
    # Each slice of iterations adds the base score: it must be the same for all classes.
    params |= {"nthread": job.n_jobs, "seed": seed, "verbosity": 0, "base_score": 0.5, **settings}
    bins = {"max_bin": params["max_bin"], "nthread": job.n_jobs}
    data = xgboost.QuantileDMatrix(job.X_train, job.y_train, **bins)
    booster = xgboost.Booster(params, [data])

    def scores(first: int, end: int) -> Any:
        part = {"iteration_range": (first, end), "predict_type": "margin"}
        return booster.inplace_predict(job.X_test, **part)

    yield scores
    for number in itertools.count():
        booster.update(data, number)
        yield True


def _hist_gradient_boosting(job: RaceJob, seed: int, n: int, settings: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    fixed = {"max_iter": n, "early_stopping": False, "random_state": seed}
    with threadpool_limits(job.n_jobs):
        classifier = HistGradientBoostingClassifier(**fixed, **settings)
        return classifier.fit(job.X_train, job.y_train)


def _adaboost(job: RaceJob, seed: int, n: int, settings: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    params = {"n_estimators": n, "random_state": seed, **settings}
    stump = DecisionTreeClassifier(max_depth=params.pop("max_depth", 1))
    return AdaBoostClassifier(stump, **params).fit(job.X_train, job.y_train)


class Peer(NamedTuple):
    """Another library: its package, how it starts, usual settings, names of further ones."""

    package: str
    start: Callable[..., Any]
    usual: str
    further: str
    whole: bool = False


PEERS = {
    "lightgbm": Peer(
        "lightgbm",
        _lightgbm,
        "num_leaves=31:learning_rate=0.2:feature_fraction=0.05:data_sample_strategy=goss",
        "bagging_fraction bagging_freq bin_construct_sample_cnt extra_trees "
        "feature_fraction_bynode force_col_wise force_row_wise lambda_l1 lambda_l2 max_bin "
        "max_depth min_data_in_leaf min_sum_hessian_in_leaf other_rate top_rate use_quantized_grad",
    ),
    "xgboost": Peer(
        "xgboost",
        _xgboost,
        "max_leaves=31:learning_rate=0.3:colsample_bytree=0.05",
        "colsample_bynode gamma grow_policy max_bin max_depth min_child_weight reg_alpha "
        "reg_lambda subsample",
    ),
    "hist-gradient-boosting": Peer(
        "sklearn",
        _hist_gradient_boosting,
        "max_leaf_nodes=31:learning_rate=0.3:max_features=0.05",
        "l2_regularization max_bins max_depth min_samples_leaf",
        whole=True,
    ),
    "adaboost": Peer("sklearn", _adaboost, "learning_rate=1.0", "max_depth", whole=True),
}


def peer_method(variant: Variant) -> RaceMethod:
    """A peer with its usual settings, replaced by those of the variant."""
    if variant.name not in PEERS:
        raise unknown("peer", variant.name, PEERS)
    peer = PEERS[variant.name]
    if find_spec(peer.package) is None:
        raise SettingError(
            f"{variant.name} is not installed; install it with pip install 'boostsample[peers]', "
            "or leave it out of --peers"
        )
    usual = Variant.parse(f"{variant.name}:{peer.usual}").settings
    names = [*usual, *peer.further.split()]
    for setting in variant.settings:
        if setting not in names:
            raise unknown(f"setting of {variant.name}", setting, names)
    start = functools.partial(peer.start, settings={**usual, **variant.settings})
    return RaceMethod(variant.label, start, peer.whole)


# -------------------------------------------------------------------------------------- the race


@dataclass(frozen=True)
class RaceRules:
    """The test error to reach in percent, seconds of a run at most, runs of each method."""

    error: float = 1.5
    limit: float = 60.0
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
    ended: str = ""  # "reached" the error, "limit" of seconds, "rounds" or "nothing left" to learn
    prepared: float | None = None  # seconds for bins or data set; None for whole fits
    seconds: float = 0.0  # on the clock
    curve: list[tuple[int, float, float]] = field(default_factory=list)

    def timed(self, work: Callable[..., Any], *args: Any) -> Any:
        """Call work(*args) with the clock running."""
        before = time.perf_counter()
        result = work(*args)
        self.seconds += time.perf_counter() - before
        return result

    @property
    def iterations(self) -> int:
        """Iterations at the last point."""
        return self.curve[-1][0] if self.curve else 0


def race(job: RaceJob, methods: Sequence[RaceMethod], rules: RaceRules) -> list[RaceRun]:
    """Time all methods, which take turns; one that misses the error does not run again."""
    small = job.for_warm_up()  # compiles kernels, loads libraries, checks settings
    for method in methods:
        try:
            time_race_run(small, method, RaceRules(error=0.0), rules.seed)
        except (BoostSampleError, MemoryError):
            raise
        except Exception as error:
            raise SettingError(
                f"{method.name} does not run: {type(error).__name__}: {one_line(error)}"
            ) from error
    runs: list[RaceRun] = []
    for repeat, method in itertools.product(range(rules.repeats), methods):
        if all(run.ended == "reached" for run in runs if run.method == method.name):
            runs.append(time_race_run(job, method, rules, rules.seed + repeat))
    return runs


def time_race_run(job: RaceJob, method: RaceMethod, rules: RaceRules, seed: int) -> RaceRun:
    """Time one run of a method."""
    gc.collect()  # so that this run does not pay for earlier ones
    run = RaceRun(method.name)
    (_time_whole if method.whole else _time_pausing)(run, method, job, rules, seed)
    return run


def _time_pausing(
    run: RaceRun, method: RaceMethod, job: RaceJob, rules: RaceRules, seed: int
) -> None:
    """Go on until something ends the run."""
    iterations = method.start(job, seed)
    scores_of = run.timed(next, iterations)
    run.prepared, scores, done = run.seconds, 0.0, 0
    while not run.ended:
        if not run.timed(next, iterations, False):
            run.ended = "nothing left"
        else:
            done += 1
            if run.seconds >= rules.limit:
                run.ended = "limit"
            elif done == job.n_rounds:
                run.ended = "rounds"
        last = run.iterations
        if done > last and (run.ended or done >= int(_STEP * last)):
            scores = scores + scores_of(last, done)
            error = job.test_error(classify(scores))
            run.curve.append((done, run.seconds, error))
            run.ended = "reached" if error <= rules.error else run.ended


def _time_whole(
    run: RaceRun, method: RaceMethod, job: RaceJob, rules: RaceRules, seed: int
) -> None:
    """Fit with more and more iterations, then once more with those that the error needs.

    The curve has the end of each fit with its own time. No fit begins that would exceed the limit
    if time grew with iterations.
    """
    n = min(2, job.n_rounds)
    while not run.ended:
        run.seconds = 0.0
        fitted = run.timed(method.start, job, seed, n)
        errors = [job.test_error(codes) for codes in fitted.staged_predict(job.X_test)]
        enough = next((m for m, error in enumerate(errors, 1) if error <= rules.error), 0)
        if 0 < enough < len(errors):
            n = enough
            continue
        run.curve.append((len(errors), run.seconds, errors[-1]))
        if enough:
            run.ended = "reached" if run.seconds <= rules.limit else "limit"
        elif len(errors) < n:
            run.ended = "nothing left"
        elif n >= job.n_rounds:
            run.ended = "rounds"
        elif _GROWTH * run.seconds > rules.limit:
            run.ended = "limit"
        n = min(_GROWTH * n, job.n_rounds)


def race_table(runs: Sequence[RaceRun], rules: RaceRules) -> Table:
    """The median run of each method by seconds, runs that missed the error last."""
    by_method: dict[str, list[RaceRun]] = {}
    for run in sorted(runs, key=lambda run: (run.ended != "reached", run.seconds)):
        by_method.setdefault(run.method, []).append(run)
    medians = {name: ordered[(len(ordered) - 1) // 2] for name, ordered in by_method.items()}
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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--data", default="digits", help="a data set")
    parser.add_argument("--data-dir", help="folder of the original files")
    parser.add_argument("--columns", type=int, help="columns to draw, 2000 or fewer by default")
    parser.add_argument("--error", type=float, default=1.5, help="the test error in percent")
    parser.add_argument(
        "--strategies",
        default="uniform-naive,uniform-q1,laminating",
        help="ratios are to the first",
    )
    parser.add_argument("--peers", help="other libraries, or none; all installed by default")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a run at most")
    parser.add_argument("--rounds", type=int, default=10_000, help="iterations at most")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each method")
    parser.add_argument("--jobs", type=int, default=-1, help="threads of every method, -1 for all")
    for name in ("learner", "budget", "weights", "objective"):
        parser.add_argument(f"--{name}", help="as of boostsample compare")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        rules = RaceRules(options.error, options.limit, options.repeats, options.seed)
        names = "learner", "budget", "weights", "objective"
        charged = {name: getattr(options, name) for name in names}
        plan = Plan(
            strategies=race_variants(options.strategies),
            marks=(options.rounds,),
            repeats=1,
            seed=options.seed,
            **{name: value for name, value in charged.items() if value is not None},
        )
        installed = ",".join(name for name, peer in PEERS.items() if find_spec(peer.package))
        peers = options.peers or installed or "none"
        methods = [strategy_race_method(variant, plan) for variant in plan.variants]
        methods += map(peer_method, () if peers == "none" else race_variants(peers))
        threads = n_threads(options.jobs)
        data = load_dataset(options.data, data_dir=options.data_dir, seed=options.seed)
        job = make_race_job(data, options.columns, options.seed)
        job = job._replace(n_jobs=threads, n_rounds=options.rounds)
        runs = race(job, methods, rules)
    except BoostSampleError as error:
        parser.error(str(error))
    n_train, n_columns = job.X_train.shape
    sys.stdout.write(
        f"{job.name}: {n_train:,} training and {job.y_test.size:,} test examples, {job.n_classes} "
        f"classes, {n_columns:,} columns; threads: {threads}; {plan.weights} initial weights and "
        f"objective {plan.objective} of the strategies\n\n{to_text(race_table(runs, rules))}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
