"""Make a report: one HTML file with all tables, pictures and facts of results folders.

The same results make the same bytes; time, place and the name of the folder do not matter.
"""

from __future__ import annotations

import base64
import inspect
import json
import logging
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import boostsample
from boostsample.errors import BoostSampleError, DataError, printable
from boostsample.experiments.common.progress import duration_text
from boostsample.experiments.metrics import AREA, MAIN_METRICS, METRICS, ranked_metrics
from boostsample.experiments.plan.variants import TUNED_VARIANT, Variant
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.plots.drawing import check_drawing, describe, picture_bytes
from boostsample.experiments.plots.ranks import ranks_figure
from boostsample.experiments.plots.run_figures import RUN_FIGURES, mean_sampling_figure
from boostsample.experiments.results.joined import joined_results, setup_label, values_of
from boostsample.experiments.results.read_folder import Results, lost_runs, read_results, with_runs
from boostsample.experiments.results.run_curves import (
    AXES,
    check_disjoint_curves,
    curves_of_results,
)
from boostsample.experiments.results.titles import (
    STUMP,
    budgets_of,
    chosen_by_searches,
    counted,
    is_charged,
    label_of,
    learner_label,
    varying_budgets,
    with_learner,
)
from boostsample.experiments.tables.comparison_tables import looks_table, tuning_table
from boostsample.experiments.tables.score_tables import result_table
from boostsample.experiments.tables.tables import BEST, TIED, ScoreTable, Table
from boostsample.files.atomic import check_writable_file, slug, write_file
from boostsample.loop.budgets import EQUAL, split_budget
from boostsample.names import is_in_file, split_name
from boostsample.registry import registered_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Item = str | Table | dict[str, Any]
"""An item of a report: a paragraph, a table of words, or picture, scores, code or notes by keys.

Entries of tables of words keep their line breaks.
"""

_TEMPLATE = Path(__file__).with_name("report.html.j2")
_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_MOST_COLUMNS = 6  # with more columns, all tables of a data set are transposed
_MOST_TIED = 4  # strategies that an entry of the summary names, beside the best one
_NOT_SHOWN = re.compile(r"<\?xml[^>]*>|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>", re.DOTALL)
_LOG = logging.getLogger(__name__)


def check_report(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Check that a report can be made and written, before any work is done; return its path.

    SettingError for another ending, a file that exists and is not to `overwrite`, or without the
    extra ``report``; DataError if the file cannot be written.
    """
    target = check_writable_file(path, ".html", "the report", overwrite=overwrite)
    check_drawing("reports", "jinja2", "matplotlib")
    return target


def write_report(html: str, path: Path) -> None:
    """Write a report atomically; DataError if the file cannot be written."""
    write_file(path, printable(html, "\n\t"), "the report")


def make_report(
    folders: Sequence[str | os.PathLike[str]],
    title: str | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> str:
    """Make a report on results folders, which may be incomplete or without cells; return HTML.

    `folders` have different data sets or setups; `title` is by default that of the grid, else the
    names of the data sets; `progress` is called with the name of each stage. SettingError or
    DataError if two folders have the same data set and setup, or one cannot be read or has no
    results.
    """
    from jinja2 import Environment, StrictUndefined

    sources = []
    for folder in folders:
        progress(f"reading {folder}")
        sources.append(_read_source(folder))
    warnings = list(filter(None, map(_warning, sources)))
    for warning in warnings:
        _LOG.info(warning)
    joined = joined_results(sources)
    chapters = _Report(sources, joined, progress).chapters()
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    template = environment.from_string(_TEMPLATE.read_text("utf-8"))
    titles = filter(None, (str(source.settings.get("title", "")) for source in sources))
    return template.render(
        title=title or "; ".join(titles) or f"Strategies on {_names(joined)}",
        lead=_lead(sources, joined),
        warnings=warnings,
        chapters=chapters,
        version=boostsample.__version__,
    )


def title_of(source: Results) -> str:
    """The names of the data sets, joined."""
    return " and ".join(source.names)


def _read_source(folder: str | os.PathLike[str]) -> Results:
    results = read_results(folder)
    try:
        return with_runs(results, folder)
    except DataError:
        return results  # a small folder, without cells


def _warning(source: Results) -> str:
    if source.missing:
        return (
            f"The results of {title_of(source)} are incomplete: {source.missing:,} runs are "
            "missing. Strategies have fewer repetitions than requested, or are left out."
        )
    lost = lost_runs(source) if source.runs else 0
    if not lost:
        return ""
    return (
        f"The cells of {lost:,} runs of {title_of(source)} are missing or cannot be used: "
        "pictures of searches and examples leave these runs out."
    )


def _lead(folders: Sequence[Results], sources: Sequence[Results]) -> str:
    labels = {
        strategy["strategy"] + strategy["settings"]
        for folder in folders
        for entry in folder.settings["data_sets"]
        if entry["name"] in folder.names
        for strategy in entry["strategies"]
    }
    learners = dict.fromkeys(learner for source in sources for learner in source.learners)
    others = f" with {' and '.join(learners)}" if set(learners) != {STUMP} else ""
    is_mh = not any("objective=" in learner for learner in learners)
    boosted = "AdaBoost.MH" if is_mh else "boosting"
    repeats = sorted({int(source.settings["repeats"]) for source in sources})
    rounds = sorted({int(source.settings["rounds"][-1]) for source in sources})
    return (
        f"{len(labels):,} sampling {'strategy' if len(labels) == 1 else 'strategies'} for "
        f"{boosted}{others}, compared at {_budgets(sources)} on {_names(sources)}: "
        f"{' or '.join(f'{n:,}' for n in rounds)} rounds, "
        f"{' or '.join(map(str, repeats))} repetition{'s' if repeats[-1] > 1 else ''}."
    )


def _budgets(sources: Sequence[Results]) -> str:
    varying = dict.fromkeys(
        sentence
        for source in sources
        for name in source.names
        for sentence in varying_budgets(source.settings_of(name))
    )
    several = any("budget" in source.settings.get("axes", ()) for source in sources)
    if several or varying:
        kinds = f" ({'; '.join(varying)})" if varying else ""
        return f"{'several budgets' if several else 'a budget'} of looks{kinds}"
    others: dict[str, None] = {}
    for source in sources:
        for name in source.names:
            groups = list(budgets_of(source.settings_of(name)).values())
            others |= dict.fromkeys(label for labels in groups[1:] for label in labels)
    exceptions = f" except for {', '.join(others)}" if others else ""
    return f"an equal budget of looks{exceptions}"


def _names(sources: Sequence[Results]) -> str:
    *names, last = (name for source in sources for name in source.names)
    return " and ".join(filter(None, [", ".join(names), last]))


@dataclass(frozen=True)
class _Section:
    id: str
    title: str
    items: Sequence[Item]
    parts: Sequence[_Section] = ()


class _Report:
    """The chapters of a report, with tables that are computed once and notes that are told once.

    `parts` are results of one data set each.
    """

    def __init__(
        self,
        folders: Sequence[Results],
        sources: Sequence[Results],
        progress: Callable[[str], None],
    ) -> None:
        self._folders = folders
        self._sources = sources  # the same results, joined
        self._parts = {name: source.part(name) for source in sources for name in source.names}
        self._progress = progress
        self._notes: list[str] = []
        self._tables: dict[tuple[str, str, str], ScoreTable] = {}
        check_disjoint_curves(name for source in sources for name in source.names)

    def chapters(self) -> list[_Section]:
        self._progress("tables")
        learners = [learner for source in self._sources for learner in source.learners]
        compared = facts_of_comparison(self._folders, self._sources)
        compared.append(_worded(_WORDS["reading"], learners))
        chapters = [
            _Section("summary", "Summary", self._summary()),
            _Section("compared", "What was compared", compared),
        ]
        for at, name in enumerate(self._parts, start=1):
            self._progress(f"tables and pictures of {name}")
            chapters.append(self._data_chapter(f"data-{at}", name))
        several = len(self._folders) > 1
        repeat = [item for source in self._folders for item in facts_to_repeat(source, several)]
        chapters.append(_Section("repeat", "To repeat it", repeat))
        for name, part in self._parts.items():
            notes = [note for note in part.settings_of(name)["notes"] if note not in self._notes]
            prefix = f"{name}: " if len(self._parts) > 1 else ""
            self._note_numbers(f"{prefix}{note}" for note in notes)
        if self._notes:
            listed = {"kind": "notes", "notes": self._notes}
            chapters.append(_Section("notes", "Notes", [listed]))
        return chapters

    def _note_numbers(self, notes: Iterable[str]) -> list[int]:
        """The numbers of notes, from 1; adds new ones."""
        different = list(dict.fromkeys(notes))
        self._notes += [note for note in different if note not in self._notes]
        return sorted(self._notes.index(note) + 1 for note in different)

    def _table(self, name: str, metric: str, axis: str = "stumps") -> ScoreTable:
        key = (name, metric, axis)
        if key not in self._tables:
            part = [self._parts[name]]
            (self._tables[key],) = result_table(part, metric, axis)
        return self._tables[key]

    def _summary(self) -> list[Item]:
        metrics = list(dict.fromkeys(m for part in self._parts.values() for m in _metrics(part)))
        rows = []
        for name, part in self._parts.items():
            for axis in _axes(part):
                level = self._table(name, "loss", axis).rows[-1][0]
                where = f"at {level} {axis}"
                if axis == "stumps":
                    where = f"after {level} {counted(part.learners)}"
                entries = [
                    _winner(self._table(name, metric, axis)) if metric in _metrics(part) else "-"
                    for metric in metrics
                ]
                rows.append((name, where, *entries))
        orders = {-1: "lowest", 0: "lowest", 1: "highest"}
        heads = (f"{orders[METRICS[metric].better]} {METRICS[metric].title}" for metric in metrics)
        best = Table("The best strategies", ("data set", "where", *heads), tuple(rows))
        return [_worded(_WORDS["summary"]), best, *self._ranks()]

    def _ranks(self) -> list[Item]:
        pictures: list[Item] = []
        shared = set.intersection(*(set(_metrics(part)) for part in self._parts.values()))
        metrics = [metric for metric in ranked_metrics() if metric in shared]
        for metric in metrics if len(self._parts) > 1 else ():
            try:
                figure = ranks_figure(self._sources, metric)
            except BoostSampleError as error:
                of_metric = f", by {METRICS[metric].title}," if pictures else ""
                return [*pictures, f"Ranks across data sets{of_metric} are left out: {error}"]
            caption = f"Mean ranks across data sets, by {METRICS[metric].title}."
            pictures.append(picture_item(figure, caption))
        return pictures

    def _data_chapter(self, section_id: str, name: str) -> _Section:
        part = self._parts[name]
        tuning = tuning_table(part)
        learners = part.learners
        sections: list[_Section] = []

        def add(key: str, *items: Item, charged: bool = False) -> None:
            """Add a part with its title and text; `charged` adds a remark on tuned strategies."""
            words = _WORDS[key]
            remarks = [words.get("searches", "") if counted(learners) != "stumps" else ""]
            remarks.append(_WORDS["charged"] if charged else "")
            text = _worded(" ".join([words["text"], *remarks]), learners)
            title = _worded(words["title"], learners)
            texts = [text] if text else []
            sections.append(_Section(f"{section_id}-{key}", title, [*texts, *items]))

        def shown(key: str, figure: Figure) -> Item:
            return picture_item(figure, _worded(_WORDS[key]["caption"], learners))

        for axis in _axes(part):
            add(f"at-{axis}", *self._at(name, axis), charged=tuning is not None)
        spent = [looks_table(part)] if part.runs else []
        add("cost", *self._scores(name, "looks", "seconds"), *map(_capitalised, spent))
        if tuning is not None:
            add("tuning", _capitalised(tuning))
        if part.runs:
            figure = RUN_FIGURES["sampling"](name, part.runs)
        else:
            figure = mean_sampling_figure(*curves_of_results(part))
        add("sampling", *self._scores(name, "features", "examples"), shown("sampling", figure))
        families = ["families"] if len(part.settings_of(name)["families"]) > 1 else []
        for key in [*families, "edges", "margins"] if part.runs else ():
            add(key, shown(key, RUN_FIGURES[key](name, part.runs)))
        remarks = [] if part.runs else [_worded(_WORDS["no_cells"])]
        return _Section(section_id, name, remarks, sections)

    def _at(self, name: str, axis: str) -> list[Item]:
        part = self._parts[name]
        metrics = _metrics(part)
        drawn = [metric for metric in metrics if metric != AREA]
        figure = curves_figure([part], axis, drawn)
        if axis == "stumps":
            metrics.append("auc")
        against = counted(part.learners) if axis == "stumps" else axis
        *others, last = ["Loss", "test error", *(METRICS[m].axis_title for m in drawn[2:])]
        caption = (
            f"{', '.join(others)} and {last} against {against}; bands: one standard deviation to "
            "each side."
        )
        return [*self._scores(name, *metrics, axis=axis), picture_item(figure, caption)]

    def _scores(self, name: str, *metrics: str, axis: str = "stumps") -> list[Item]:
        from markupsafe import Markup

        many = len(self._table(name, "loss").header) > _MOST_COLUMNS
        items: list[Item] = []
        for metric in metrics:
            table = self._table(name, metric, axis)
            title = table.title.removeprefix(f"{with_learner(name, self._parts[name].learners)}: ")
            shown = _capitalised(replace(table.transposed() if many else table, title=title))
            numbers, html = self._note_numbers(table.notes), Markup(shown.to_html())
            items.append({"kind": "table", "name": shown.title, "html": html, "notes": numbers})
        return items


def picture_item(figure: Figure, caption: str) -> dict[str, Any]:
    """A figure as a separate SVG image, so that its ids cannot clash with those of others.

    `source` is a data URL; sizes are in CSS pixels.
    """
    text = _NOT_SHOWN.sub("", picture_bytes(figure, "svg").decode("utf-8"))
    width, height = (round(96 * inches) for inches in figure.get_size_inches())
    return {
        "kind": "picture",
        "source": f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode('ascii')}",
        "width": width,
        "height": height,
        "alt": describe(figure),
        "caption": caption,
    }


def _capitalised(table: Table) -> Table:
    return replace(table, title=table.title[:1].upper() + table.title[1:])


def _worded(text: str, learners: Sequence[str] = ()) -> str:
    words = {"counted": counted(learners), "stumps": chosen_by_searches(learners)}
    return " ".join(text.format(**words).split())


def _metrics(part: Results) -> list[str]:
    names = [facts["name"] for facts in part.settings.get("metrics", ())]
    known = [
        name
        for name in names
        if METRICS[name].column in part.table and part.table[METRICS[name].column].notna().any()
    ]
    return [*MAIN_METRICS, *known, AREA]


def _axes(part: Results) -> tuple[str, ...]:
    """The axes with levels at which a data set can be compared."""
    (curves,) = curves_of_results(part)
    return tuple(axis for axis in AXES if curves.levels(axis))


def _winner(table: ScoreTable) -> str:
    last = list(zip(table.header, table.rows[-1], table.flags[-1], strict=True))
    best = [f"{label}: {entry}" for label, entry, flag in last if flag == BEST]
    if not best:
        return "-"
    tied = [label for label, _, flag in last if flag == TIED]
    rivals = [label for label in table.header[1:] if not is_charged(label)]
    if len(tied) > 1 and len(tied) == len(rivals) - 1:
        tied = ["all others"]
    elif len(tied) > _MOST_TIED:
        tied = [*tied[:_MOST_TIED], f"and {len(tied) - _MOST_TIED} of {len(rivals) - 1} others"]
    return "\n".join([*best, *([f"not told apart: {', '.join(tied)}"] if tied else [])])


# ----------------------------------------------------------------------------------------- facts


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


def _plan_row(settings: Mapping[str, Any]) -> tuple[str, ...]:
    looks = f"{settings['budget']} looks".replace("N", " N").replace(":", " ")
    return (
        learner_label(settings),
        f"{settings['rounds'][-1]:,}",
        f"{settings['repeats']:,}",
        "10 N looks (full, quickboost: all they need)" if settings["budget"] is None else looks,
        str(settings["weights"]),
        str(settings["seed"]),
    )


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
    if is_in_file(name):
        return f"{split_name(name)[0]}, a class in a file"
    try:
        module = sys.modules[registered_class("strategy", name).__module__]
    except BoostSampleError:  # its distribution is not installed here
        return "of another distribution"
    return (inspect.getdoc(module) or "").partition("\n")[0].rstrip(".")


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
