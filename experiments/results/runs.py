"""Runs and their rows: one strategy in one repetition; of a tuned strategy, the best of its grid.

Tuning as in [DF11] 5.2 trains every setting of the tuning grid in full and keeps the best run:
"We tune the meta-parameters of these techniques [...] by training them multiple times over a large
range of parameters and keeping only the results of the run with the smallest final Boosting loss."
This is done in each repetition, with each setting's own stream, so that the kept run equals a run
with its settings without tuning. The final loss is the training loss at the last mark. The first
setting wins a tie. Each run is a separate cell.

Tuning over M settings costs M times the looks of one run, "around one order of magnitude" in the
paper. Two sets of result rows show both sides:

- ``ucb*``: the kept run at the marks, as in the paper's Table 2, with its own looks.
- ``ucb* charged``: at mark m the kept run after m // M stumps, with the looks and seconds of all M
  runs after this number of stumps, about the looks of m stumps without tuning. NaN if that is less
  than one stump. The run is chosen by its final loss and need not be the best one at each mark.

A run has a row at each mark, and about forty others, about equally far apart on a log scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from boostsample.errors import DataError
from boostsample.experiments.cells.cell_file import LOOKS, Cell
from boostsample.experiments.cells.tasks import curve_points, points_to_score
from boostsample.experiments.metrics import METRICS
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.titles import label_of, learner_label, setup_columns
from boostsample.history import Column

if TYPE_CHECKING:
    import pandas as pd


def _columns(*metrics: str, kind: type = float) -> tuple[Column, ...]:
    return tuple(Column(METRICS[name].column, kind, METRICS[name].about) for name in metrics)


RESULT_SCHEMA = (
    Column("data", str, "data set"),
    Column("strategy", str, "name; label with `*` if tuned, ` charged` if looks include tuning"),
    Column("settings", str, "settings of the strategy, for a tuned one those that were kept"),
    Column("learner", str, "learner, with step, objective, code and limits if not the default"),
    Column("budget", str, "budget of a search as it was given, `default` if it was not"),
    Column("weight_init", str, "initial weights"),
    Column("bank", str, "form of the bank"),
    Column("repetition", int, "repetition, counted from 0"),
    Column(
        "stumps",
        int,
        "number of rounds, each a base classifier: with the learner `stump`, of stumps",
    ),
    *_columns("loss", "error"),
    *_columns("looks", kind=int),
    *_columns("seconds", "balanced-accuracy", "f1", "log-loss"),
)
"""Columns of result rows."""
TABLE_SCHEMA = (
    *RESULT_SCHEMA,
    *_columns("auc", "features", "examples"),
    *_columns("values_computed", kind=int),
    *_columns("cost"),
    *_columns("one-error", "coverage", "average-precision", "pairwise-loss", "ndcg", "regret"),
)
"""Columns of ``table.csv``."""
RESULT_COLUMNS = tuple(column.name for column in RESULT_SCHEMA)
TABLE_COLUMNS = tuple(column.name for column in TABLE_SCHEMA)


def table_frame(
    rows: Sequence[Mapping[str, Any]], schema: Sequence[Column] = TABLE_SCHEMA
) -> pd.DataFrame:
    """Rows as a data frame with the columns and types of a schema; texts are objects."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Series([row[name] for row in rows], dtype=object if kind is str else kind)
            for name, kind, _ in schema
        }
    )


class Spent(NamedTuple):
    """What a run, or all runs of a tuning, have spent so far."""

    search: int = 0  # looks, for each of `LOOKS`
    modelling: int = 0
    finish: int = 0
    seconds: float = 0.0  # of training
    values: int = 0  # feature values computed
    cost: float = 0.0  # nominal seconds of training

    @property
    def looks(self) -> int:
        """Looks for search and modelling."""
        return self.search + self.modelling

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        return Spent._make(a + b for a, b in zip(self, other, strict=True))


@dataclass(frozen=True)
class TuningRuns:
    """Totals over all runs of a tuned strategy in one repetition.

    `spent` is by the number of stumps that each run has: each mark divided by the number of runs,
    and the points of the charged curve.
    """

    losses: tuple[float, ...]  # final log10 losses, in the order of the tuning grid
    budget: int  # looks per search, summed over the runs
    total: Spent  # in all rounds
    spent: dict[int, Spent]


@dataclass
class Run:
    """One strategy in one repetition."""

    variant: Variant  # the strategy as in the plan
    repetition: int
    budget: int  # looks per search
    trained: Variant  # `variant`, or an element of its tuning grid
    cell: Cell = field(repr=False)  # the measurements
    tuning: TuningRuns | None = None  # of the kept run of a tuned strategy
    setup: Mapping[str, str] = field(default_factory=dict)  # columns `SETUP_COLUMNS` of its rows
    scores: dict[str, dict[int, float]] = field(default_factory=dict, repr=False)
    """Other metrics by column and number of stumps, see `scored_runs`."""

    @property
    def data(self) -> str:
        """Name of the data set."""
        return str(self.cell.facts["data"]["name"])

    @property
    def row_names(self) -> dict[str, Any]:
        """The columns `strategy` and `settings` of its rows."""
        return {"strategy": self.variant.row_name, "settings": self.trained.settings_text}

    @property
    def learner(self) -> str:
        """Name of the learner, with its settings as they were given, and its step size."""
        return learner_label(self.cell.facts)

    @property
    def n_rounds(self) -> int:
        """Rounds trained."""
        return self.cell.n_rounds

    @property
    def final_loss(self) -> float:
        """log10 of the exponential loss after the last round."""
        return self.cell.loss_at[self.n_rounds]

    @property
    def total(self) -> Spent:
        """What it has spent in all rounds."""
        return self.spent_at(self.n_rounds)

    def spent_at(self, stumps: int) -> Spent:
        """What it has spent for a number of stumps, or for all."""
        if not stumps:
            return Spent()
        at = min(stumps, self.n_rounds) - 1
        looks = [int(self.cell.looks(purpose)[at]) for purpose in LOOKS]
        values = int(self.cell.summed("values_computed")[at])
        times = float(self.cell.seconds[at]), values, float(self.cell.cost[at])
        return Spent._make((*looks, *times))

    def table_rows(self, marks: Sequence[int]) -> Iterator[dict[str, Any]]:
        """The rows up to the last mark, with `TABLE_COLUMNS`, ascending in stumps.

        A run that ended early repeats its last state at the marks. The charged rows of a tuned
        strategy follow.
        """
        means = {
            "features": self.cell.mean("n_features"),
            "examples": self.cell.mean("n_examples"),
        }

        def row(stumps: int, trained: int, strategy: str, spent: Spent) -> Any:
            at = min(trained, self.n_rounds)
            cell = self.cell
            return {
                "data": self.data,
                "strategy": strategy,
                "settings": self.trained.settings_text,
                **self.setup,
                "repetition": self.repetition,
                "stumps": stumps,
                "log10_loss": cell.loss_at[at] if at else math.nan,
                "test_error": cell.errors[at] if at else math.nan,
                "looks": spent.looks,
                "seconds": spent.seconds,
                **{name: values.get(at, math.nan) for name, values in cell.metrics.items()},
                "auc": cell.areas.get(at, math.nan),
                **{name: float(mean[at - 1]) if at else math.nan for name, mean in means.items()},
                "values_computed": spent.values,
                "cost": spent.cost,
                "regret": cell.regret.get(at, math.nan),
                **{name: values.get(at, math.nan) for name, values in self.scores.items()},
            }

        name = self.variant.row_name
        for at in sorted({*(at for at in self.cell.loss_at if at <= marks[-1]), *marks}):
            yield row(at, at, name, self.spent_at(at))
        if self.tuning is None:
            return
        n_runs = len(self.tuning.losses)
        shown = {mark: mark // n_runs for mark in marks}
        between = {n_runs * at: at for at in self.tuning.spent if at not in shown.values()}
        for stumps, trained in sorted((shown | between).items()):
            if stumps <= marks[-1]:
                yield row(stumps, trained, name + CHARGED_VARIANT, self.tuning.spent[trained])

    def history_rows(self, with_setup: bool = False) -> Iterator[dict[str, Any]]:
        """Its history rows, if any, preceded by data set, strategy, setup and repetition."""
        names = {
            "data": self.data,
            **self.row_names,
            **(self.setup if with_setup else {}),
            "repetition": self.repetition,
        }
        for row in self.cell.history or ():
            yield {**names, **row}


def runs_by_strategy(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each strategy by its label, in order of appearance; DataError without runs."""
    runs_of: dict[str, list[Run]] = {}
    for run in runs:
        runs_of.setdefault(label_of(run.row_names), []).append(run)
    if not runs_of:
        raise DataError("the results must have runs, got none; run it again into a new folder")
    return runs_of


def kept_run(
    variant: Variant,
    search: Mapping[str, Any],
    plan: Mapping[str, Any],
    load: Callable[[str], Cell | None],
) -> tuple[Run | None, int]:
    """The run of a strategy with the smallest final loss, and the number of cells that are missing.

    `search` and `plan` are records of ``plan.json``, see `plan_file`, the second one with the
    settings of the setup; `load` gives the cell of a file, None without a usable one. A cell
    without a score of the plan is missing, too. No run is kept if a cell is missing. At most two
    cells are held at a time. The `tuning` of a run that was tuned has the totals over all runs.
    """
    best: Run | None = None
    setup = setup_columns(plan)
    losses: list[float] = []
    missing, total = 0, Spent()
    marks, n_runs = plan["rounds"], len(search["files"])
    points = points_to_score(marks, n_runs, plan.get("score_every"))
    shared = {*(mark // n_runs for mark in marks), *curve_points(marks[-1])}
    spent = {stumps: Spent() for stumps in shared if n_runs * stumps <= marks[-1]}
    entries = zip(variant.trained, search["budgets"], search["files"], strict=True)
    for trained, budget, file in entries:
        cell = load(file)
        if cell is None or not cell.has(
            points, marks, bool(plan.get("history")), plan.get("regret")
        ):
            missing += 1
            continue
        run = Run(variant, search["repetition"], budget, trained, cell, setup=setup)
        if best is None or run.final_loss < best.final_loss:
            best = run
        losses.append(run.final_loss)
        total = total.plus(run.total)
        for stumps, so_far in spent.items():
            spent[stumps] = so_far.plus(run.spent_at(stumps))
    if missing or best is None:
        return None, missing
    if n_runs > 1:
        best.tuning = TuningRuns(tuple(losses), sum(search["budgets"]), total, spent)
    return best, 0
