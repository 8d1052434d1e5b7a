"""Prints the tables of docs/BK10.md: our smoothed test errors beside Table 1 of [BK10], and costs.

    python -m tests.experiments.table1 [FOLDER]

With FOLDER, which holds the results of the grids in docs/bk10, it first writes the figures of these
results to docs/results/bk10-validated.csv and bk10-mnist.csv. docs/results/bk10.csv holds Table 1
of the paper.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from boostsample.experiments.metrics import METRICS, SMOOTHED
from boostsample.experiments.results.read_folder import Results, read_results
from boostsample.experiments.results.run_curves import curves_of_data
from boostsample.experiments.results.validation import Choice, choose, score_choices
from boostsample.experiments.tables.tables import mean_std
from tests.paths import ROOT

RESULTS = ROOT / "docs" / "results"
FIGURES = RESULTS / "bk10-validated.csv"
MNIST = RESULTS / "bk10-mnist.csv"
LEVELS = (1e7, 1e8, 1e9, 6e9)
"""Looks at which the learners are compared on MNIST."""
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
COLUMNS = (
    *("learner", "data", "strategy", "settings", "rounds", "falling", "validation", "test"),
    *("level", "looks", "seconds"),
)
WITHIN = 1.25
"""Costs are those at which the smoothed test error is this many times FULL's validated one."""


def paper() -> dict[tuple[str, str, str], float]:
    """Table 1 by learner, strategy and data set."""
    with (RESULTS / "bk10.csv").open(newline="", encoding="ascii") as stream:
        return {
            (row["learner"], row["strategy"], row["data"]): float(row["error"])
            for row in csv.DictReader(stream)
        }


def collected(folder: Path) -> Iterator[dict[str, Any]]:
    """The figures of all results in a folder."""
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
            figures = (choice.errors[0], test.errors[0], level, looks, seconds)
            shown = (f"{value:.6g}" for value in figures)
            validation, tested, *costs = shown
            named = (choice.learner, choice.base, choice.strategy, choice.settings)
            place = choice.stumps, "+" if choice.at_end else ""
            yield dict(zip(COLUMNS, (*named, *place, validation, tested, *costs), strict=True))


def first_reached(results: Results, choice: Choice, level: float) -> tuple[float, float]:
    """Looks and seconds at which the smoothed test error of a choice first is at most `level`."""
    (run,) = curves_of_data([results])[choice.base].runs(SMOOTHED)[choice.label].values()
    for row in run.to_dict("records"):
        if row[METRICS[SMOOTHED].column] <= level:
            return float(row["looks"]), float(row["seconds"])
    return float("nan"), float("nan")


def figures() -> list[dict[str, str]]:
    """The kept figures."""
    with FIGURES.open(newline="", encoding="ascii") as stream:
        return list(csv.DictReader(stream))


def by_row() -> dict[tuple[str, str], dict[str, dict[str, str]]]:
    """The kept figures by learner and data set, then by strategy."""
    rows: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in figures():
        rows.setdefault((row["learner"], row["data"]), {})[row["strategy"]] = row
    kinds = ("stump", "product", "tree")
    order = sorted(rows, key=lambda key: (kinds.index(key[0].partition(":")[0]), key[1]))
    return {key: rows[key] for key in order}


def table1() -> Iterator[str]:
    """Our smoothed test error, T in parentheses, and the paper's in italics; Markdown."""
    yield "| learner | data | " + " | ".join(METHODS.values()) + " |"
    yield "| --- | --- |" + " ---: |" * len(METHODS)
    theirs = paper()
    for (learner, data), by_strategy in by_row().items():
        cells = []
        for method in METHODS:
            row = by_strategy.get(method)
            key = learner.partition(":")[0], method, data.partition("-")[0]
            cells.append(
                ""
                if row is None
                else f"{float(row['test']):.2f} ({int(row['rounds']):,}{row['falling']}) "
                f"*{theirs[key]:.2f}*"
            )
        yield f"| `{learner}` | {NAMES[data]} | {' | '.join(cells)} |"


def costs() -> Iterator[str]:
    """Looks and seconds up to a given smoothed test error, as shares of FULL's; Markdown."""
    rest = [method for method in METHODS if method != "full"]
    yield (
        "| learner | data | error | FULL | " + " | ".join(METHODS[method] for method in rest) + " |"
    )
    yield "| --- | --- | ---: | ---: |" + " ---: |" * len(rest)
    for (learner, data), by_strategy in by_row().items():
        if "full" not in by_strategy:
            continue
        full = by_strategy["full"]
        looks, seconds = float(full["looks"]), float(full["seconds"])
        cells = []
        for method in rest:
            row = by_strategy[method]
            parts = float(row["looks"]) / looks, float(row["seconds"]) / seconds
            missed = parts[0] != parts[0]
            cells.append("not reached" if missed else f"{parts[0]:.2g}, {parts[1]:.2g}")
        level = float(full["level"])
        first = f"{looks:.2g} looks, {seconds:.3g} s"
        yield f"| `{learner}` | {NAMES[data]} | {level:.2f} | {first} | {' | '.join(cells)} |"


def at_looks(folder: Path) -> Iterator[dict[str, Any]]:
    """The test error of each run on MNIST with all families, at the last score up to each level."""
    for kind in ("stumps", "products", "trees"):
        place = folder / f"bk10-mnist-families-{kind}"
        if not place.is_dir():
            continue
        results = read_results(place)
        runs = curves_of_data([results])["mnist"].runs()
        (learner,) = {str(row["learner"]) for row in results.rows}
        for repetition, run in enumerate(next(iter(runs.values())).values()):
            for level in LEVELS:
                if run["looks"].iloc[-1] >= level:
                    error = run.loc[run["looks"] <= level, "test_error"].iloc[-1]
                    row = learner, f"{level:.0e}", repetition, f"{error:.6g}"
                    yield dict(zip(("learner", "looks", "repetition", "error"), row, strict=True))


def mnist() -> Iterator[str]:
    """The kept errors on MNIST at equal looks: mean and standard deviation; Markdown."""
    errors: dict[tuple[str, str], list[float]] = {}
    with MNIST.open(newline="", encoding="ascii") as stream:
        for row in csv.DictReader(stream):
            errors.setdefault((row["learner"], row["looks"]), []).append(float(row["error"]))
    learners = dict.fromkeys(learner for learner, _ in errors)
    yield "| looks | " + " | ".join(f"`{learner}`" for learner in learners) + " |"
    yield "| --- |" + " ---: |" * len(learners)
    for looks in dict.fromkeys(looks for _, looks in errors):
        cells = [mean_std(errors.get((learner, looks), ())) for learner in learners]
        factor, _, power = looks.partition("e+0")
        shown = f"10^{power}" if factor == "1" else f"{factor} * 10^{power}"
        yield f"| {shown} | {' | '.join(cells)} |"


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="", encoding="ascii") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write the figures of a folder if one is named; print the tables."""
    if sys.argv[1:]:
        folder = Path(sys.argv[1])
        write(FIGURES, list(collected(folder)))
        write(MNIST, list(at_looks(folder)))
    sys.stdout.write("\n".join([*table1(), "", *costs(), "", *mnist()]) + "\n")


if __name__ == "__main__":
    main()
