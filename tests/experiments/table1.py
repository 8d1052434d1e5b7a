"""Prints the tables of docs/BK10.md: our smoothed test errors beside Table 1 of [BK10], and costs.

    python -m tests.experiments.table1 [FOLDER]

With FOLDER, which holds the results of the grids in docs/bk10, it first writes the figures of these
results to docs/results/bk10-validated.csv and bk10-mnist.csv. docs/results/bk10.csv holds Table 1
of the paper.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from boostsample.experiments.metrics import METRICS, SMOOTHED
from boostsample.experiments.results.read_folder import Results, read_results
from boostsample.experiments.results.run_curves import curves_of_data
from boostsample.experiments.results.validation import Choice, choose, score_choices
from boostsample.experiments.tables.tables import mean_std
from tests.experiments import markdown
from tests.paths import RESULTS

FIGURES = RESULTS / "bk10-validated.csv"
MNIST = RESULTS / "bk10-mnist.csv"
LEVELS = (1e7, 1e8, 1e9, 6e9)  # looks at which the learners are compared on MNIST
METHODS = {
    "full": "FULL",
    "uniform-naive": "RANDOM",
    "ucb": "UCB",
    "ucbv": "UCBV",
    "exp3p": "EXP3.P",
}
NAMES = {
    "mnist": "MNIST, pixels",
    "usps-smoothed": "USPS, smoothed",
    "pendigits": "pendigits",
    "letter": "letter",
}
WITHIN = 1.25
"""Costs are those at which the smoothed test error is this many times FULL's validated one."""


def collected(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("bk10-*/table.csv")):
        results = read_results(path.parent)
        if not any(":validation" in data["name"] for data in results.settings["data_sets"]):
            continue
        choices = choose(results)
        tests = score_choices(choices, results, results)
        base = {c.base: t.errors[0] for c, t in zip(choices, tests, strict=True)
                if c.strategy == "full"}  # fmt: skip
        for choice, test in zip(choices, tests, strict=True):
            level = WITHIN * base.get(choice.base, float("nan"))
            looks, seconds = first_reached(results, choice, level)
            yield {
                "learner": choice.learner,
                "data": choice.base,
                "strategy": choice.strategy,
                "settings": choice.settings,
                "rounds": choice.stumps,
                "falling": "+" if choice.at_end else "",
                "validation": f"{choice.errors[0]:.6g}",
                "test": f"{test.errors[0]:.6g}",
                "level": f"{level:.6g}",
                "looks": f"{looks:.6g}",
                "seconds": f"{seconds:.6g}",
            }


def first_reached(results: Results, choice: Choice, level: float) -> tuple[float, float]:
    """Looks and seconds at which the smoothed test error of a choice first is at most `level`."""
    (run,) = curves_of_data([results])[choice.base].runs(SMOOTHED)[choice.label].values()
    reached = run.loc[run[METRICS[SMOOTHED].column] <= level, ["looks", "seconds"]]
    return tuple(reached.iloc[0]) if len(reached) else (math.nan, math.nan)


def by_row() -> list[tuple[list[str], pd.DataFrame]]:
    """The kept figures of each learner and data set by strategy, with the names of the row."""
    kinds = ("stump", "product", "tree")
    figures = pd.read_csv(FIGURES, index_col="strategy").fillna({"falling": ""})
    figures["kind"] = figures["learner"].map(lambda name: kinds.index(name.partition(":")[0]))
    figures = figures.sort_values(["kind", "data"], kind="stable")
    return [
        ([f"`{learner}`", NAMES[data]], part)
        for (learner, data), part in figures.groupby(["learner", "data"], sort=False)
    ]


def table1() -> list[str]:
    """Our smoothed test error, T in parentheses, and the paper's in italics; Markdown."""
    paper = pd.read_csv(RESULTS / "bk10.csv", index_col=["learner", "strategy", "data"])["error"]
    rows = []
    for names, part in by_row():
        cells = dict.fromkeys(METHODS, "")
        for method, row in part.iterrows():
            theirs = paper[row.learner.partition(":")[0], method, row.data.partition("-")[0]]
            cells[method] = f"{row.test:.2f} ({row.rounds:,}{row.falling}) *{theirs:.2f}*"
        rows.append([*names, *cells.values()])
    return markdown.table(["learner", "data", *METHODS.values()], rows, left=(0, 1))


def costs() -> list[str]:
    rows = []
    for names, part in by_row():
        if "full" not in part.index:
            continue
        full = part.loc["full"]
        shares = part[["looks", "seconds"]] / full[["looks", "seconds"]]
        cells = [
            "not reached" if math.isnan(looks) else f"{looks:.2g}, {seconds:.2g}"
            for looks, seconds in shares.loc[list(METHODS)[1:]].to_numpy()
        ]
        level = f"{full.level:.2f}", f"{full.looks:.2g} looks, {full.seconds:.3g} s"
        rows.append([*names, *level, *cells])
    return markdown.table(["learner", "data", "error", *METHODS.values()], rows, left=(0, 1))


def at_looks(folder: Path) -> Iterator[dict[str, Any]]:
    """The test error of each run on MNIST with all families at equal looks, as `table` has it."""
    for kind in ("stumps", "products", "trees"):
        place = folder / f"bk10-mnist-families-{kind}"
        if not place.is_dir():
            continue
        curves = curves_of_data([read_results(place)])["mnist"]
        (learner,) = curves.learners
        for level in LEVELS:
            (runs,) = curves.at("error", "looks", level).values()
            for repetition, error in runs.items():
                yield {
                    "learner": learner,
                    "looks": f"{level:.0e}",
                    "repetition": repetition,
                    "error": f"{error:.6g}",
                }


def mnist() -> list[str]:
    """The kept errors on MNIST at equal looks: mean and standard deviation; Markdown."""
    errors = pd.read_csv(MNIST)
    groups = errors.groupby(["looks", "learner"])["error"]
    texts = groups.apply(lambda errors: mean_std(list(errors))).unstack()
    texts = texts.reindex(index=errors["looks"].unique(), columns=errors["learner"].unique())
    names = {1e7: "10^7", 1e8: "10^8", 1e9: "10^9", 6e9: "6 * 10^9"}
    texts = texts.fillna(mean_std(())).rename(index=names)
    return markdown.frame_table(["looks", *(f"`{name}`" for name in texts)], texts, "{}")


def main() -> None:
    if sys.argv[1:]:
        folder = Path(sys.argv[1])
        markdown.write_rows(FIGURES, collected(folder))
        markdown.write_rows(MNIST, at_looks(folder))
    sys.stdout.write("\n".join([*table1(), "", *costs(), "", *mnist()]) + "\n")


if __name__ == "__main__":
    main()
