"""Lists the facts of a comparison for its report: what was compared, and how to repeat it.

The facts are those of ``plan.json``; cells add what the kept runs searched and when.
"""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from boostsample.errors import BoostSampleError
from boostsample.experiments.common.progress import duration_text
from boostsample.experiments.plan.variants import TUNED_VARIANT, Variant
from boostsample.experiments.results.joined import setup_label, values_of
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.titles import label_of, learner_label
from boostsample.experiments.tables.tables import Table
from boostsample.files.atomic import slug
from boostsample.loop.round_budgets import EQUAL, split_budget
from boostsample.names import is_in_file, split_name
from boostsample.registry import registered_class

Item = str | Table | dict[str, Any]
"""An item of a report: a paragraph, a table of words, or picture, scores, code or notes by keys.

Entries of tables of words keep their line breaks.
"""


def title_of(source: Results) -> str:
    """The names of the data sets, joined."""
    return " and ".join(source.names)


def facts_of_comparison(folders: Sequence[Results], sources: Sequence[Results]) -> list[Item]:
    """List the data sets, the strategies, and the settings that they share.

    `sources` are the results of the folders, joined.
    """
    data_sets = {name: source.settings_of(name) for source in sources for name in source.names}
    strategies: dict[str, dict[str, Mapping[str, Any]]] = {}
    axes = {name: source.settings.get("axes", ()) for source in sources for name in source.names}
    for folder in folders:
        for setup in folder.setups:
            for name in setup.names:
                values = setup_label(values_of(setup), axes[name])
                place = f"{name} {values}" if values else name
                for strategy in setup.settings_of(name)["strategies"]:
                    strategies.setdefault(label_of(strategy), {})[place] = strategy
    return [
        Table(
            "Data sets",
            ("data set", "training examples", "test examples", "classes", "features", "budget"),
            tuple((name, *_data_row(data)) for name, data in data_sets.items()),
        ),
        Table(
            "Strategies",
            ("strategy", "what it does", "settings", "tuned over"),
            tuple((label, *_strategy_row(by_data)) for label, by_data in strategies.items()),
        ),
        Table(
            "How they were compared",
            (
                *("data sets", "learner", "rounds", "repetitions", "budget of a search"),
                *("first weights", "seed"),
            ),
            tuple((title_of(source), *_plan_row(source.settings)) for source in sources),
        ),
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
        kind = split_budget(strategy.get("round_budgets", ""))[1]
        looks = f"{_different(strategy['budget'])} looks a search"
        text = looks if kind == EQUAL else f"{looks} on average, {kind}"
        budgets.setdefault(text, []).append(label_of(strategy))
    usual = max(budgets, key=lambda looks: len(budgets[looks]))
    others = [f"{', '.join(who)}: {looks}" for looks, who in budgets.items() if looks != usual]
    shape = data["shape"][1:]
    kind = f"{' x '.join(map(str, shape))} pixels" if len(shape) > 1 else f"{shape[0]:,} columns"
    return (
        f"{_different(data['n_train'])}\n{kind}",
        _different(data["n_test"]),
        f"{len(data['classes']):,}",
        f"{total:,}: {families}",
        "\n".join([usual, *others]),
    )


def _different(numbers: Sequence[int]) -> str:
    """The different numbers of all repetitions.

    >>> _different([1348, 1347, 1347])
    '1,347 or 1,348'
    """
    return " or ".join(f"{n:,}" for n in sorted(set(numbers)))


def _strategy_row(by_data: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The row of a strategy from its entries by data set."""
    entry = next(iter(by_data.values()))
    name = str(entry["strategy"]).partition(TUNED_VARIANT)[0]
    settings = []
    for key in entry["settings_in_use"]:
        values: dict[str, list[str]] = {}
        for data, strategy in by_data.items():
            values.setdefault(_word(strategy["settings_in_use"].get(key)), []).append(data)
        texts = [
            value if len(values) == 1 else f"{value} ({', '.join(where)})"
            for value, where in values.items()
        ]
        settings.append(f"{key} = {', '.join(texts)}")
    grid = [Variant.parse(f"{name}:{text}").settings for text in entry.get("grid", ())]
    tuned = [f"{len(grid)} settings:"] if grid else []
    for key in grid[0] if grid else ():
        tuned.append(f"{key} = {', '.join(dict.fromkeys(_word(tried[key]) for tried in grid))}")
    return (_description(name), "\n".join(settings) or "-", "\n".join(tuned) or "-")


def _word(value: Any) -> str:
    return "none" if value is None else str(value)


def _description(name: str) -> str:
    """The first line of the strategy's module."""
    if is_in_file(name):
        return f"{split_name(name)[0]}, a class in a file"
    try:
        module = sys.modules[registered_class("strategy", name).__module__]
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
        else f"{budget} looks".replace("N", " N").replace(":", " "),
        str(settings["weights"]),
        str(settings["seed"]),
    )


def facts_to_repeat(source: Results, several: bool) -> list[Item]:
    """List the commands, the grid file and the origin of a comparison."""
    title, settings = title_of(source), source.settings
    stem = "-".join(dict.fromkeys(slug(name.partition("(")[0]) for name in source.names))[:60]
    file, folder = f"{stem}.json", f"{stem}-again"
    commands = []
    if settings.get("command"):
        command = shlex.join(map(str, settings["command"]))
        commands += ["# the command that made these results", command, ""]
    saved = []
    if settings.get("entries"):
        grid = json.dumps({"entries": settings["entries"]}, indent=1) + "\n"
        url = f"data:text/plain;charset=utf-8,{quote(grid)}"
        saved = [_code(f"grid of {title}", grid, file, url)]
        commands += [
            "# the same from the file below, into a new folder;",
            "# --data-dir DIR names a folder of original data files, else they are downloaded",
            f"boostsample compare --grid {file} --results {folder}",
            "",
            "# its report",
            f"boostsample report {folder} -o {stem}.html",
        ]
    return [
        *([f"{title}:"] if several else []),
        *([_code("commands", "\n".join(commands) + "\n")] if commands else []),
        *saved,
        Table(f"How the runs on {title} were made", ("", ""), tuple(_made(source))),
    ]


def _code(name: str, text: str, file: str = "", source: str = "") -> dict[str, Any]:
    """Text in a fixed width; readers can save the data URL `source` under the name `file`."""
    return {"kind": "code", "name": name, "text": text, "file": file, "source": source}


def _made(source: Results) -> list[tuple[str, str]]:
    """When, where and with which versions results were made; rows of two columns."""
    settings = source.settings
    made: Mapping[str, Any] = settings.get("cells", {"machines": [], "versions": []})
    machines = (f"{m['processor']}, {m['cores']} cores, {m['platform']}" for m in made["machines"])
    first, last = (
        str(made.get(key, "?")).replace("T", " ").replace("+00:00", " UTC")
        for key in ("first", "last")
    )
    rows = [
        ("runs started", first if first == last else f"{first} to {last}"),
        (
            "kept runs took",
            f"{duration_text(made.get('seconds', 0.0))} in all, scoring included",
        ),
        ("machine", _different_lines(machines)),
        ("versions", _different_lines(map(_versions, made["versions"]))),
        (
            "numerics",
            f"{settings.get('numerics', '?')}; results of the same numerics agree to the bit",
        ),
        ("seed", f"{settings['seed']}: of splits, of families that draw members, of all streams"),
        ("bank", _different_lines(map(_bank, source.setups))),
    ]
    rows += [(f"{name}, SHA-256", source.settings_of(name)["sha256"]) for name in source.names]
    files = settings.get("files", {})
    return [*rows, *((f"{name}, SHA-256", file["sha256"]) for name, file in files.items())]


def _bank(setup: Results) -> str:
    return ", ".join(f"{k} = {_word(v)}" for k, v in setup.settings["bank"].items())


def _different_lines(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(texts))


def _versions(numbers: Mapping[str, str]) -> str:
    names = sorted(numbers, key=lambda name: name not in ("boostsample", "python"))
    return ", ".join(f"{name} {numbers[name]}" for name in names)
