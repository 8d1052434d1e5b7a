"""Time to a given test error: a clock that runs in training alone, and who is timed when.

Test errors are taken after each of the first hundred iterations, then whenever these have grown by
2 %; what counts is the clock at the first of these points at which the error is low enough. The
clock stands still meanwhile. First each method's grid of settings is tried, methods taking turns;
then the best settings of each run again, some times over, taking turns too, and the median of these
is the method's time.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

import numpy as np

from boostsample.errors import BoostSampleError, SettingError
from boostsample.experiments.common.files import one_line
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.race.clock import Clock, Neighbours, Now
from boostsample.experiments.race.job import Job, warm_up_job
from boostsample.experiments.race.methods import Codes, Paused, Whole
from boostsample.experiments.race.peers import Method
from boostsample.experiments.race.runs import Race, Rules, Run
from boostsample.experiments.run.compare import Progress

__all__ = ["race", "time_run"]

_STEP = 1.02
"""Iterations at one point over those at the point before it."""
_GROWTH = 3
"""Iterations of a whole fit over those of the fit before it, where the limit allows."""
_WORTH_IT = 1.5
"""A whole fit has at least so many times the iterations of the last one."""


def race(
    job: Job,
    methods: Sequence[Method],
    rules: Rules | None = None,
    progress: Progress | None = None,
    now: Now = time.perf_counter,
) -> Race:
    """Time all methods on one job.

    Parameters
    ----------
    job : Job
    methods : sequence of Method
    rules : Rules, optional
    progress : callable, optional
        Called as progress(what runs, seconds on its clock, limit).
    now : callable, optional
        The time in seconds.

    Raises
    ------
    SettingError
        A method does not run at all with some of its settings, found before anything is timed.
    """
    rules = Rules() if rules is None else rules
    report = progress or (lambda stage, done, total: None)
    _check_methods(methods)
    _warm_up(job, methods, rules.seed, report)
    runs: list[Run] = []
    best: dict[str, Run] = {}

    def add(method: Method, settings: Variant, repeat: int | None) -> Run:
        stop = best[method.name].seconds if repeat is None and method.name in best else math.inf
        seed = rules.seed + (repeat or 0)
        run = time_run(job, method, settings, rules, repeat is not None, seed, stop, report, now)
        runs.append(run)
        return run

    for turn in zip_longest(*(m.grid if len(m.grid) > 1 else () for m in methods)):
        for method, settings in zip(methods, turn, strict=True):
            if settings is None:
                continue
            run = add(method, settings, None)
            before = best.get(method.name)
            if run.reached and (before is None or run.seconds < before.seconds):
                best[method.name] = run
    for repeat in range(rules.repeats):
        for method in methods:
            chosen = _chosen(method, best)
            if chosen is None or (repeat and not _may_reach(runs, method)):
                continue
            add(method, chosen, repeat)
    return Race(rules, tuple(method.name for method in methods), tuple(runs))


def _chosen(method: Method, best: dict[str, Run]) -> Variant | None:
    """The settings of the final runs; None if no settings have reached the error."""
    if len(method.grid) == 1:
        return method.grid[0]
    if method.name not in best:
        return None
    return next(v for v in method.grid if v.settings_text == best[method.name].settings)


def _may_reach(runs: Sequence[Run], method: Method) -> bool:
    """Whether a final run of the method has reached the error: others need not be tried."""
    return any(run.reached for run in runs if run.final and run.method == method.name)


def _check_methods(methods: Sequence[Method]) -> None:
    if not methods:
        raise SettingError("a race needs at least one method, got none; name a strategy or a peer")
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"each method must be there once, got {name!r} twice")


def _warm_up(job: Job, methods: Sequence[Method], seed: int, report: Progress) -> None:
    """Two iterations of everything on a few rows: compiles, loads libraries, checks settings."""
    small = warm_up_job(job)
    everything = [(method, settings) for method in methods for settings in method.grid]
    for number, (method, settings) in enumerate(everything):
        report("warming up", number, len(everything))
        try:
            one = method.make(small, settings, seed)
            if isinstance(one, Whole):
                one.fit(2)
                next(one.staged())
            else:
                one.prepare()
                more = one.advance()
                one.predict()
                if more:
                    one.advance()
        except (BoostSampleError, MemoryError):
            raise
        except Exception as error:
            raise SettingError(
                f"{settings.label} does not run: {type(error).__name__}: {one_line(error)}"
            ) from error


def time_run(
    job: Job,
    method: Method,
    settings: Variant,
    rules: Rules,
    final: bool = True,
    seed: int = 0,
    stop: float = math.inf,
    report: Progress | None = None,
    now: Now = time.perf_counter,
) -> Run:
    """Time one method with one choice of settings.

    Parameters
    ----------
    stop : float
        Seconds of the method's best so far, beyond which this run does not matter.
    """
    gc.collect()  # what other runs have left behind is not swept on this one's clock
    one = method.make(job, settings, seed)
    name = settings.label
    end = min(rules.limit, stop)

    def told(seconds: float) -> None:
        if report is not None:
            report(name, int(seconds), math.ceil(end))

    told(0.0)
    neighbours = Neighbours()
    if isinstance(one, Whole):
        prepared, curve, ended = _time_whole(one, job, rules, end, told, now)
    else:
        prepared, curve, ended = _time_paused(one, job, rules, end, told, now)
    if ended == "limit" and stop < rules.limit:
        ended = "best"
    iterations, seconds, _ = curve[-1]
    return Run(
        method.name,
        settings.settings_text,
        final,
        seed,
        ended,
        prepared,
        seconds,
        iterations,
        tuple(curve),
        neighbours.share(),
    )


_Timed = tuple[float, list[tuple[int, float, float]], str]


def _error(predicted: Codes, job: Job) -> float:
    """Test error in percent."""
    return 100.0 * int(np.count_nonzero(predicted != job.y_test)) / job.y_test.size


def _time_paused(
    one: Paused, job: Job, rules: Rules, end: float, told: Callable[[float], None], now: Now
) -> _Timed:
    """Go on until something ends the run."""
    clock = Clock(now)
    with clock:
        one.prepare()
    prepared = clock.seconds
    curve = []
    done, due = 0, _next(0)
    while True:
        with clock:
            more = one.advance()
        done += 1
        ended = ""
        if not more:
            ended = "nothing left"
        elif clock.seconds >= end:
            ended = "limit"
        elif done >= job.n_rounds:
            ended = "rounds"
        if done < due and not ended:
            continue
        error = _error(one.predict(), job)
        curve.append((done, clock.seconds, error))
        told(clock.seconds)
        if error <= rules.error:
            ended = "reached"
        if ended:
            return prepared, curve, ended
        due = _next(done)


def _next(point: int) -> int:
    """The point after a point at which the error is taken.

    >>> _next(0), _next(99), _next(100), _next(1000)
    (1, 100, 102, 1020)
    """
    return max(point + 1, int(point * _STEP))


def _points(n: int) -> Iterator[int]:
    """All points up to n, and n."""
    point = _next(0)
    while point < n:
        yield point
        point = _next(point)
    yield n


def _time_whole(
    one: Whole, job: Job, rules: Rules, end: float, told: Callable[[float], None], now: Now
) -> _Timed:
    """Fit with more and more iterations; at last with just as many as the error needs.

    The curve has the end of each fit with its own time. No fit is begun that would go beyond the
    end by the time that iterations took in the last one.
    """
    curve: list[tuple[int, float, float]] = []
    n = 2 if job.n_rounds > 1 else 1
    while True:
        clock = Clock(now)
        with clock:
            one.fit(n)
        errors = [_error(codes, job) for codes in one.staged()]
        done = len(errors)
        curve.append((done, clock.seconds, errors[-1]))
        told(clock.seconds)
        found = next((m for m in _points(done) if errors[m - 1] <= rules.error), None)
        if found is not None:
            break
        if done < n or done >= job.n_rounds:
            return math.nan, curve, "nothing left" if done < n else "rounds"
        n = min(_GROWTH * done, _affordable(curve, end), job.n_rounds)
        if n < min(_WORTH_IT * done, job.n_rounds):
            return math.nan, curve, "limit"
    if found < done:
        clock = Clock(now)
        with clock:
            one.fit(found)
        curve[-1] = (found, clock.seconds, errors[found - 1])
    return math.nan, curve, "reached" if clock.seconds <= end else "limit"


def _affordable(curve: list[tuple[int, float, float]], end: float) -> int:
    """Iterations of a fit that ends in time: on the line through the last two, or through zero."""
    done, seconds, _ = curve[-1]
    before, earlier, _ = curve[-2] if len(curve) > 1 else (0, 0.0, 0.0)
    pace = (seconds - earlier) / (done - before)
    if pace <= 0.0:  # a disturbed fit tells nothing about iterations
        pace = seconds / done
    return done + int((end - seconds) / pace)
