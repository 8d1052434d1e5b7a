"""Lists the facts of a comparison for its report: what was compared, and how to repeat it.

The facts are those of ``plan.json``; cells add what the kept runs searched and when.
"""

from __future__ import annotations

import inspect
import json
import shlex
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from boostsample.errors import BoostSampleError, DataError
from boostsample.experiments.cells.cell_file import LOOKS
from boostsample.experiments.common.progress import duration_text
from boostsample.experiments.plan.prepared import pool_of_families, settings_in_use
from boostsample.experiments.plan.variants import TUNED_VARIANT, Variant
from boostsample.experiments.results.read_folder import (
    Results,
    lost_runs,
    read_results,
    read_runs,
)
from boostsample.experiments.results.runs import Run, runs_by_strategy
from boostsample.experiments.results.titles import (
    counted,
    label_of,
    learner_label,
    learners_of,
)
from boostsample.experiments.tables.comparison_tables import searches_and_terms
from boostsample.experiments.tables.tables import Table, mean_std
from boostsample.files.atomic import slug
from boostsample.registry import strategy_class

Item = str | Table | dict[str, Any]
"""An item of a report: a paragraph, a table of words, or picture, scores, code or notes by keys.

Entries of tables of words keep their line breaks.
"""


@dataclass(frozen=True)
class FactSource:
    """The content of a results folder."""

    results: Results
    runs: Mapping[str, list[Run]]  # kept runs by data set; empty without cells
    grid_file: str | None  # a grid file that makes the same cells
    lost: int = 0  # runs of the grid whose cells are missing or cannot be used, if there are others

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that all data sets share."""
        return self.results.settings

    @property
    def names(self) -> list[str]:
        """Names of the data sets that have rows."""
        return list(dict.fromkeys(str(row["data"]) for row in self.results.rows))

    @property
    def learners(self) -> tuple[str, ...]:
        """The learner of the runs."""
        return learners_of(self.results.rows)

    @property
    def title(self) -> str:
        """The names of the data sets, joined."""
        return " and ".join(self.names)

    @cached_property
    def data_sets(self) -> dict[str, dict[str, Any]]:
        """The facts of each data set that has rows, by name; keys as in ``plan.json``."""
        known = {str(entry["name"]): entry for entry in self.settings["data_sets"]}
        return {name: known[name] for name in self.names}


def read_fact_source(path: Path) -> FactSource:
    """Read a results folder, with its runs if it has cells; errors as in `read_results`."""
    results = read_results(path)
    entries = results.settings.get("entries")
    grid = None if entries is None else json.dumps({"entries": entries}, indent=1) + "\n"
    try:
        runs = read_runs(path)
    except DataError:
        return FactSource(results, {}, grid)  # a small folder, without cells
    return FactSource(results, runs, grid, lost_runs(results, runs))


def facts_of_comparison(sources: Sequence[FactSource]) -> list[Item]:
    """List the data sets, the strategies, and the settings that they share."""
    data_sets = [pair for source in sources for pair in source.data_sets.items()]
    strategies: dict[str, Mapping[str, Any]] = {}
    in_use: dict[str, dict[str, Mapping[str, Any]]] = {}
    for source in sources:
        for name, data in source.data_sets.items():
            for strategy in data["strategies"]:
                strategies.setdefault(label_of(strategy), strategy)
                used = _settings_in_use(strategy, data, source.settings["rounds"][-1])
                in_use.setdefault(label_of(strategy), {})[name] = used
    plans = [(source.title, *_plan_row(source.settings)) for source in sources]
    header = ("learner", "rounds", "repetitions", "budget of a search", "first weights", "seed")
    return [
        Table(
            "Data sets",
            ("data set", "training examples", "test examples", "classes", "features", "budget"),
            tuple((name, *_data_row(data)) for name, data in data_sets),
        ),
        Table(
            "Strategies",
            ("strategy", "what it does", "settings", "tuned over"),
            tuple(
                (label, *_strategy_row(strategy, in_use[label]))
                for label, strategy in strategies.items()
            ),
        ),
        Table("How they were compared", ("data sets", *header), tuple(plans)),
    ]


def _data_row(data: Mapping[str, Any]) -> tuple[str, ...]:
    total = sum(family["n_features"] for family in data["families"])
    families = ", ".join(
        f"{family['name']} {family['n_features']:,}" for family in data["families"]
    )
    if len(data["families"]) == 1:
        families = str(data["families"][0]["name"])
    budgets: dict[str, list[str]] = {}
    for strategy in data["strategies"]:
        budgets.setdefault(_different(strategy["budget"]), []).append(label_of(strategy))
    usual = max(budgets, key=lambda looks: len(budgets[looks]))
    others = [f"{', '.join(who)}: {looks}" for looks, who in budgets.items() if looks != usual]
    shape = data["shape"][1:]
    kind = f"{' x '.join(map(str, shape))} pixels" if len(shape) > 1 else f"{shape[0]:,} columns"
    return (
        f"{_different(data['n_train'])}\n{kind}",
        _different(data["n_test"]),
        f"{len(data['classes']):,}",
        f"{total:,}: {families}",
        "\n".join([f"{usual} looks a search", *others]),
    )


def _different(numbers: Sequence[int]) -> str:
    """The different numbers of all repetitions.

    >>> _different([1348, 1347, 1347])
    '1,347 or 1,348'
    """
    return " or ".join(f"{n:,}" for n in sorted(set(numbers)))


def _settings_in_use(
    strategy: Mapping[str, Any], data: Mapping[str, Any], n_rounds: int
) -> Mapping[str, Any]:
    """The settings with the values in use; recorded, else computed, else as they were given."""
    if "settings_in_use" in strategy:
        recorded: Mapping[str, Any] = strategy["settings_in_use"]
        return recorded
    name = str(strategy["strategy"]).partition(TUNED_VARIANT)[0]
    variant = Variant.parse(":".join(filter(None, (name, strategy["settings"]))))
    grid = tuple(Variant.parse(f"{name}:{text}") for text in strategy.get("grid", ()))
    sizes = [(family["name"], family["n_features"]) for family in data["families"]]
    pool = pool_of_families(sizes, data["n_train"][0])
    try:
        budget = strategy["budget"][0]
        return settings_in_use(replace(variant, grid=grid), pool, budget, n_rounds)
    except BoostSampleError:  # its distribution is not installed here
        return dict(strategy.get("parameters", variant.settings))


def _strategy_row(
    strategy: Mapping[str, Any], in_use: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    """The row of a strategy; `in_use` has its settings by data set."""
    name = str(strategy["strategy"]).partition(TUNED_VARIANT)[0]
    settings = []
    for key in next(iter(in_use.values())):
        values: dict[str, list[str]] = {}
        for data, used in in_use.items():
            values.setdefault(_word(used.get(key)), []).append(data)
        texts = [
            value if len(values) == 1 else f"{value} ({', '.join(where)})"
            for value, where in values.items()
        ]
        settings.append(f"{key} = {', '.join(texts)}")
    grid = [Variant.parse(f"{name}:{text}").settings for text in strategy.get("grid", ())]
    axes = {
        key: ", ".join(dict.fromkeys(_word(alternative[key]) for alternative in grid))
        for key in (grid[0] if grid else ())
    }
    tuned = [f"{len(grid)} settings:"] if grid else []
    tuned += [f"{key} = {values}" for key, values in axes.items()]
    return (_description(name), "\n".join(settings) or "-", "\n".join(tuned) or "-")


def _lines(settings: str) -> str:
    """One setting a line."""
    return settings.replace(":", "\n").replace("=", " = ")


def _word(value: Any) -> str:
    return "none" if value is None else str(value)


def _description(name: str) -> str:
    """The first line of the strategy's module."""
    try:
        module = sys.modules[strategy_class(name).__module__]
    except BoostSampleError:  # its distribution is not installed here
        return "of another distribution"
    return (inspect.getdoc(module) or "").partition("\n")[0].rstrip(".")


def _plan_row(settings: Mapping[str, Any]) -> tuple[str, ...]:
    budget = settings["budget"]
    return (
        learner_label(settings),
        f"{settings['rounds'][-1]:,}",
        f"{settings['repeats']:,}",
        "10 N looks (full: all it needs)"
        if budget is None
        else f"{budget} looks".replace("N", " N"),
        str(settings["weights"]),
        str(settings["seed"]),
    )


def facts_of_tuning(source: FactSource, name: str) -> Table | None:
    """List the settings that tuning kept on a data set; None if nothing was tuned."""
    tunings: dict[tuple[str, int], list[tuple[str, Sequence[float], int]]] = {}
    for data in source.settings["data_sets"]:
        for strategy in data.get("strategies", ()) if data["name"] == name else ():
            for each in strategy.get("tuning") or ():
                search = each["kept"], each["final_log10_loss"], each["looks"]
                key = label_of(strategy), len(strategy["grid"])
                tunings.setdefault(key, []).append(search)
    if not tunings:
        for run in source.runs.get(name, ()):
            if run.tuning is not None:
                looks = run.tuning.looks["search"] + run.tuning.looks["modelling"]
                search = run.trained.settings_text, run.tuning.losses, looks
                tunings.setdefault((run.variant.label, len(run.variant.grid)), []).append(search)
    rows = []
    for (label, tried), searches in tunings.items():
        choices = [choice for choice, _, _ in searches]
        for settings in sorted(dict.fromkeys(choices), key=lambda choice: -choices.count(choice)):
            runs = [(losses, looks) for choice, losses, looks in searches if choice == settings]
            rows.append(
                (
                    label,
                    _lines(settings),
                    f"{len(runs)} of {len(choices)}",
                    mean_std([min(losses) for losses, _ in runs]),
                    mean_std([max(losses) for losses, _ in runs]),
                    f"{tried}",
                    f"{statistics.fmean(looks for _, looks in runs):.2e}",
                )
            )
    if not rows:
        return None
    header = ("strategy", "kept", "repetitions", "its log10 loss", "worst of the grid")
    return Table(
        f"Settings kept by their training loss after {source.settings['rounds'][-1]:,} "
        f"{counted(source.learners)}",
        (*header, "settings tried", "looks of all of them"),
        tuple(rows),
    )


def facts_of_rounds(source: FactSource, name: str) -> Table | None:
    """List searches, terms and looks of a round; None without cells, or for stumps."""
    runs = source.runs.get(name, ())
    if not runs or counted(source.learners) == "stumps":
        return None
    rows = []
    for label, repeats in runs_by_strategy(runs).items():
        n_rounds = sum(run.n_rounds for run in repeats)
        looks = (
            f"{sum(run.looks[purpose] for run in repeats) / n_rounds:,.0f}" for purpose in LOOKS
        )
        rows.append((label, *searches_and_terms(repeats), *looks))
    header = ("strategy", "searches", "terms", *(f"looks of {purpose}" for purpose in LOOKS))
    return Table("A round of the kept runs, means", header, tuple(rows))


def facts_to_repeat(source: FactSource, several: bool) -> list[Item]:
    """List the commands, the grid file and the origin of a comparison."""
    stem = "-".join(dict.fromkeys(slug(name.partition("(")[0]) for name in source.names))[:60]
    file, folder = f"{stem}.json", f"{stem}-again"
    commands = []
    if source.settings.get("command"):
        command = shlex.join(map(str, source.settings["command"]))
        commands += ["# the command that made these results", command, ""]
    grid = source.grid_file
    saved = []
    if grid is not None:
        url = f"data:text/plain;charset=utf-8,{quote(grid)}"
        saved = [_code(f"grid of {source.title}", grid, file, url)]
        commands += [
            "# the same from the file below, into a new folder;",
            "# --data-dir DIR names a folder of original data files, else they are downloaded",
            f"boostsample compare --grid {file} --results {folder}",
            "",
            "# its report",
            f"boostsample report {folder} -o {stem}.html",
        ]
    return [
        *([f"{source.title}:"] if several else []),
        *([_code("commands", "\n".join(commands) + "\n")] if commands else []),
        *saved,
        Table(f"How the runs on {source.title} were made", ("", ""), tuple(_made(source))),
    ]


def _code(name: str, text: str, file: str = "", source: str = "") -> dict[str, Any]:
    """Text in a fixed width; readers can save the data URL `source` under the name `file`."""
    return {"kind": "code", "name": name, "text": text, "file": file, "source": source}


def _made(source: FactSource) -> list[tuple[str, str]]:
    """When, where and with which versions results were made; rows of two columns."""
    settings = source.settings
    cells = [run.cell for runs in source.runs.values() for run in runs]
    made: Mapping[str, Any] = settings.get("cells") or {
        "first": min((str(cell.about["started"]) for cell in cells), default=""),
        "last": max((str(cell.about["started"]) for cell in cells), default=""),
        "seconds": sum(float(cell.about["wall"]) for cell in cells),
        "machines": [cell.about["machine"] for cell in cells],
        "versions": [cell.about["versions"] for cell in cells],
    }
    numerics = settings.get("numerics") or (cells[0].about["numerics"] if cells else "?")
    machines = [f"{m['processor']}, {m['cores']} cores, {m['platform']}" for m in made["machines"]]
    ours = ("boostsample", "python")
    versions = [
        ", ".join(
            f"{key} {numbers[key]}" for key in sorted(numbers, key=lambda key: key not in ours)
        )
        for numbers in made["versions"]
    ]
    first, last = (
        str(made[key]).replace("T", " ").replace("+00:00", " UTC") for key in ("first", "last")
    )
    rows = [
        ("runs started", first if first == last else f"{first} to {last}"),
        ("kept runs took", f"{duration_text(made['seconds'])} in all, scoring included"),
        ("machine", "\n".join(dict.fromkeys(machines))),
        ("versions", "\n".join(dict.fromkeys(versions))),
        ("numerics", f"{numerics}; results of the same numerics agree to the bit"),
        ("seed", f"{settings['seed']}: of splits, of families that draw members, of all streams"),
        ("bank", ", ".join(f"{k} = {_word(v)}" for k, v in settings.get("bank", {}).items())),
    ]
    rows += [(f"{name}, SHA-256", str(data["sha256"])) for name, data in source.data_sets.items()]
    rows += [
        (f"{name}, SHA-256", str(facts["sha256"]))
        for name, facts in settings.get("files", {}).items()
    ]
    return rows
