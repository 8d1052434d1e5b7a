"""Make a report: one HTML file with all tables, pictures and facts of results folders.

The same results make the same bytes; time, place and the name of the folder do not matter.
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import boostsample
from boostsample.errors import BoostSampleError, printable
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.plots.drawing.figures import check_drawing
from boostsample.experiments.plots.ranks import ranks_figure
from boostsample.experiments.plots.run_figures import RUN_FIGURES
from boostsample.experiments.plots.sampling import mean_sampling_figure
from boostsample.experiments.report import facts
from boostsample.experiments.report.facts import FactSource
from boostsample.experiments.report.items import (
    Item,
    ListingItem,
    NotesItem,
    ScoresItem,
    TextItem,
    picture_item,
)
from boostsample.experiments.results.curves import AXES, curves_of_results
from boostsample.experiments.results.labels import (
    MAIN_METRICS,
    METRICS,
    STUMP,
    chosen_by_searches,
    counted,
    is_charged,
    with_learner,
)
from boostsample.experiments.tables.formats import to_html
from boostsample.experiments.tables.score_tables import (
    BEST,
    TIED,
    ScoreTable,
    result_table,
)
from boostsample.files.atomic import check_writable_file, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TEMPLATE = Path(__file__).with_name("report.html.j2")
_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_MOST_COLUMNS = 6
"""With more columns, all tables of a data set are transposed."""
_LOG = logging.getLogger(__name__)


def check_report(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Check that a report can be made and written, before any work is done; return its path.

    Raises SettingError if the file name has another ending, if the file exists and is not to
    `overwrite`, or if the extra ``report`` is not installed, and DataError if the file cannot be
    written.
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

    Parameters
    ----------
    folders : sequence of path
        Folders with different data sets.
    title : str, optional
        Default: the title of the grid, else the names of the data sets.
    progress : callable
        Called with the name of each stage.

    Raises
    ------
    SettingError, DataError
        Two folders have the same data set, or one cannot be read or has no results.
    """
    from jinja2 import Environment, StrictUndefined

    sources = []
    for folder in folders:
        progress(f"reading {folder}")
        sources.append(facts.read_fact_source(Path(folder)))
    warnings = [
        f"The cells of {source.lost:,} runs of {source.title} are missing or cannot be used: "
        "pictures of searches and examples leave these runs out."
        for source in sources
        if source.lost and not source.results.missing
    ]
    warnings += [
        f"The results of {source.title} are incomplete: {source.results.missing:,} runs are "
        "missing. Strategies have fewer repetitions than requested, or are left out."
        for source in sources
        if source.results.missing
    ]
    for warning in warnings:
        _LOG.info(warning)
    chapters = _Report(sources, progress).chapters()
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    template = environment.from_string(_TEMPLATE.read_text("utf-8"))
    titles = filter(None, (str(source.settings.get("title", "")) for source in sources))
    return template.render(
        title=title or "; ".join(titles) or f"Strategies on {_names(sources)}",
        lead=_lead(sources),
        warnings=warnings,
        chapters=chapters,
        version=boostsample.__version__,
    )


def _lead(sources: Sequence[FactSource]) -> str:
    """A sentence on what was compared."""
    labels = {
        one["strategy"] + one["settings"]
        for source in sources
        for data in source.data_sets.values()
        for one in data["strategies"]
    }
    learners = {learner for source in sources for learner in source.learners} - {STUMP}
    others = f" with {' and '.join(sorted(learners))}" if learners else ""
    repeats = sorted({int(source.settings["repeats"]) for source in sources})
    rounds = sorted({int(source.settings["rounds"][-1]) for source in sources})
    return (
        f"{len(labels):,} sampling {'strategy' if len(labels) == 1 else 'strategies'} for "
        f"AdaBoost.MH{others}, compared at an equal budget of looks on {_names(sources)}: "
        f"{' or '.join(f'{n:,}' for n in rounds)} rounds, "
        f"{' or '.join(map(str, repeats))} repetition{'s' if repeats[-1] > 1 else ''}."
    )


def _names(sources: Sequence[FactSource]) -> str:
    *names, last = (name for source in sources for name in source.names)
    return " and ".join(filter(None, [", ".join(names), last]))


@dataclass(frozen=True)
class _Part:
    """A titled part of a chapter."""

    id: str
    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class _Chapter(_Part):
    """A titled chapter: items, then parts."""

    parts: tuple[_Part, ...] = ()


class _Report:
    """The chapters of a report."""

    def __init__(self, sources: Sequence[FactSource], progress: Callable[[str], None]) -> None:
        self._sources = sources
        self._results = [source.results for source in sources]
        self._progress = progress
        self._notes = NotesItem()
        self._tables: dict[tuple[str, str, str], ScoreTable] = {}
        losses = result_table(self._results, "loss")  # raises if two have the same data set
        self._ids = {table.data: f"data-{at}" for at, table in enumerate(losses, start=1)}

    def chapters(self) -> list[_Chapter]:
        """All chapters, in order."""
        self._progress("tables")
        every = [learner for source in self._sources for learner in source.learners]
        listings = (*facts.facts_of_comparison(self._sources), _text("reading", every))
        chapters = [
            _Chapter("summary", "Summary", self._summary()),
            _Chapter("compared", "What was compared", listings),
        ]
        for source in self._sources:
            for name in source.names:
                self._progress(f"tables and pictures of {name}")
                chapters.append(self._data_chapter(source, name))
        several = len(self._sources) > 1
        items = [
            item for source in self._sources for item in facts.facts_to_repeat(source, several)
        ]
        chapters.append(_Chapter("repeat", "To repeat it", tuple(items)))
        self._notes.numbers(
            f"{name}: {note}" if several or len(source.names) > 1 else note
            for source in self._sources
            for name, data in source.data_sets.items()
            for note in data["notes"]
            if note not in self._notes.notes
        )
        if self._notes.notes:
            chapters.append(_Chapter("notes", "Notes", (self._notes,)))
        return chapters

    def _table(
        self, source: FactSource, name: str, metric: str, axis: str = "stumps"
    ) -> ScoreTable:
        """A table of one data set, computed once."""
        key = (name, metric, axis)
        if key not in self._tables:
            one = [source.results.part(name)]
            (self._tables[key],) = result_table(one, metric, axis, charged=axis == "stumps")
        return self._tables[key]

    def _summary(self) -> tuple[Item, ...]:
        """The best strategies at the last level of each axis, and ranks over data sets."""
        rows = []
        for source in self._sources:
            for name, axis in [(one, axis) for one in source.names for axis in _axes(source, one)]:
                level = self._table(source, name, "loss", axis).rows[-1][0]
                where = f"at {level} {axis}"
                if axis == "stumps":
                    where = f"after {level} {counted(source.learners)}"
                best = (_winner(self._table(source, name, metric, axis)) for metric in MAIN_METRICS)
                rows.append((name, where, *best))
        header = ("data set", "where", *(f"lowest {METRICS[one][1]}" for one in MAIN_METRICS))
        listing = ListingItem("The best strategies", header, tuple(rows))
        return (_text("summary"), listing, *self._ranks())

    def _ranks(self) -> list[Item]:
        """Pictures of mean ranks, if there are several data sets."""
        if len(self._ids) < 2:
            return []
        found: list[Item] = []
        for metric in MAIN_METRICS:
            try:
                figure = ranks_figure(self._results, metric)
            except BoostSampleError as error:
                return [TextItem(f"Ranks across data sets are left out: {error}")]
            found.append(
                picture_item(figure, f"Mean ranks across data sets, by {METRICS[metric][1]}.")
            )
        return found

    def _data_chapter(self, source: FactSource, name: str) -> _Chapter:
        """Tables and pictures of a data set."""
        kept = facts.facts_of_tuning(source, name)
        runs = source.runs.get(name, ())
        prefix = self._ids[name]
        part = partial(_part, source.learners, prefix)
        parts = [
            part(f"at-{axis}", self._at(source, name, axis), charged=kept is not None)
            for axis in _axes(source, name)
        ]
        cost = self._scores(source, name, "looks", "seconds")
        spent = facts.facts_of_rounds(source, name)
        parts.append(part("cost", [*cost, *([spent] if spent else [])]))
        if kept is not None:
            parts.append(part("tuning", [kept]))
        if source.results.curves:
            if runs:
                figure = RUN_FIGURES["sampling"](name, runs)
            else:
                figure = mean_sampling_figure(name, source.results.curves)
            scores = self._scores(source, name, "features", "examples")
            shown = _shown("sampling", figure, source.learners)
            parts.append(part("sampling", [*scores, shown]))
        families = ["families"] if len(source.data_sets[name]["families"]) > 1 else []
        for key in [*families, "edges", "margins"] if runs else ():
            figure = RUN_FIGURES[key](name, runs)
            parts.append(part(key, [_shown(key, figure, source.learners)]))
        return _Chapter(prefix, name, () if source.runs else (_text("no_cells"),), tuple(parts))

    def _at(self, source: FactSource, name: str, axis: str) -> list[Item]:
        """Loss and test error at equal stumps, looks or seconds."""
        figure = curves_figure([source.results.part(name)], axis, charged=axis == "looks")
        metrics = ["loss", "error"]
        if axis == "stumps" and source.results.curves:
            metrics.append("auc")
        against = counted(source.learners) if axis == "stumps" else axis
        caption = (
            f"Loss and test error against {against}; bands: one standard deviation to each side."
        )
        return [*self._scores(source, name, *metrics, axis=axis), picture_item(figure, caption)]

    def _scores(
        self, source: FactSource, name: str, *metrics: str, axis: str = "stumps"
    ) -> list[Item]:
        """Tables with the numbers of their notes."""
        from markupsafe import Markup

        many = len(self._table(source, name, "loss").header) > _MOST_COLUMNS
        found: list[Item] = []
        for metric in metrics:
            table = self._table(source, name, metric, axis)
            numbers = sorted(self._notes.numbers(table.notes))
            title = table.title.removeprefix(f"{with_learner(name, source.learners)}: ")
            title = title[:1].upper() + title[1:]
            html = to_html(replace(table.transposed() if many else table, title=title))
            found.append(ScoresItem(title, Markup(html), tuple(numbers)))
        return found


def _text(key: str, learners: Sequence[str] = ()) -> TextItem:
    return TextItem(_worded(_WORDS[key], learners))


def _worded(text: str, learners: Sequence[str]) -> str:
    """A text in the words for these learners, with single spaces."""
    words = {"counted": counted(learners), "stumps": chosen_by_searches(learners)}
    return " ".join(text.format(**words).split())


def _part(
    learners: Sequence[str], prefix: str, key: str, items: Sequence[Item], *, charged: bool = False
) -> _Part:
    """A part with its title and text; `charged` adds a remark on tuned strategies."""
    words = _WORDS[key]
    remarks = [words["charged"] if charged else ""]
    if counted(learners) != "stumps":
        remarks.insert(0, words.get("searches", ""))
    text = _worded(" ".join([words["text"], *remarks]), learners)
    title = _worded(words["title"], learners)
    return _Part(f"{prefix}-{key}", title, (*([TextItem(text)] if text else []), *items))


def _shown(key: str, figure: Figure, learners: Sequence[str]) -> Item:
    return picture_item(figure, _worded(_WORDS[key]["caption"], learners))


def _axes(source: FactSource, name: str) -> tuple[str, ...]:
    """The axes with levels at which a data set can be compared."""
    (curves,) = curves_of_results(source.results.part(name))
    return tuple(one for one in AXES if curves.levels(one)) if curves.complete else ("stumps",)


def _winner(table: ScoreTable) -> str:
    """The best strategy of the last row, and those not significantly different from it."""
    last = list(zip(table.header, table.rows[-1], table.flags[-1], strict=True))
    best = [f"{label}: {entry}" for label, entry, flag in last if flag == BEST]
    if not best:
        return "-"
    tied = [label for label, _, flag in last if flag == TIED]
    rivals = [label for label in table.header[1:] if not is_charged(label)]
    if len(tied) > 1 and len(tied) == len(rivals) - 1:
        tied = ["all others"]
    return "\n".join([*best, *([f"not told apart: {', '.join(tied)}"] if tied else [])])
