"""New names of strategies in tables and pictures, as in ``laminating=Ours,ucb=UCB1``.

Labels of joined results name a setup, as ``laminating (budget=1N)``. The name before the setup
means the strategy in all of them; the setup stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from boostsample.checks import check_known
from boostsample.errors import SettingError
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import with_labels
from boostsample.experiments.results.titles import is_charged, label_of
from boostsample.experiments.tables.tables import ScoreTable

_SETUP = " ("


def parse_new_names(text: str) -> dict[str, str]:
    """Read ``OLD=NEW[,OLD=NEW...]``; the last equals sign of a pair separates old and new.

    SettingError if a pair is incomplete, an old name is given twice, or two new names are equal.

    >>> parse_new_names("laminating=Ours, ucb:exploration=0.1=UCB1")
    {'laminating': 'Ours', 'ucb:exploration=0.1': 'UCB1'}
    """
    names: dict[str, str] = {}
    for pair in text.split(","):
        old, _, new = (side.strip() for side in pair.rpartition("="))
        if not (old and new):
            raise SettingError(
                "--rename must be OLD=NEW pairs separated by commas, as in laminating=Ours; "
                f"got {pair.strip()!r}"
            )
        if old in names:
            raise SettingError(f"--rename must name a strategy once, got {old!r} twice")
        if new in names.values():
            raise SettingError(f"--rename must give different new names, got {new!r} twice")
        names[old] = new
    return names


def _check_new_names(names: Mapping[str, str], labels: Iterable[str]) -> None:
    known = dict.fromkeys(labels)
    bases = (label.removesuffix(CHARGED_VARIANT).partition(_SETUP)[0] for label in known)
    plain = [label for label in known if not is_charged(label) or label in names]
    plain = list(dict.fromkeys([*plain, *bases]))
    for old, new in names.items():
        check_known("strategy of these results", old, plain)
        if new in plain and new not in names:
            raise SettingError(
                f"--rename {old}={new} would give two strategies the name {new!r}; choose another"
            )


def _renamed(name: str, names: Mapping[str, str]) -> str:
    """A label, or the head of a column, with the new name; charged ones follow the tuned one."""
    if name in names:
        return names[name]
    if is_charged(name):
        return _renamed(name.removesuffix(CHARGED_VARIANT), names) + CHARGED_VARIANT
    base, setup, rest = name.partition(_SETUP)
    return names.get(base, base) + setup + rest


def renamed_tables(tables: Sequence[ScoreTable], names: Mapping[str, str]) -> list[ScoreTable]:
    """Tables with new names of strategies in their headers, entries and notes.

    A charged strategy follows its own. SettingError if an old name is in no table, or two
    strategies would have the same name.
    """
    labels = dict.fromkeys(score.strategy for table in tables for score in table.scores)
    _check_new_names(names, filter(None, labels))
    longest = sorted(names, key=len, reverse=True)
    label = re.compile(rf"(?<![\w*:=.-])({'|'.join(map(re.escape, longest))})(?![\w*=-]|:\w)")
    return [
        replace(
            table,
            header=tuple(_renamed(name, names) for name in table.header),
            rows=tuple((_renamed(row[0], names), *row[1:]) for row in table.rows),
            notes=tuple(label.sub(lambda match: names[match[0]], note) for note in table.notes),
            scores=tuple(
                replace(score, strategy=_renamed(score.strategy, names)) for score in table.scores
            ),
        )
        for table in tables
    ]


def renamed_results(results: Sequence[Results], names: Mapping[str, str]) -> list[Results]:
    """Results whose rows and runs have new names of strategies; errors as in `renamed_tables`."""
    tables = [with_labels(folder.table) for folder in results]
    _check_new_names(names, (label for table in tables for label in table["label"]))
    renamed = []
    for folder, table in zip(results, tables, strict=True):
        labels = table["label"].map(lambda label: _renamed(label, names))
        changed = labels != table["label"]
        table.loc[changed, "strategy"] = labels[changed]
        table.loc[changed, "settings"] = ""
        if "base" in table:
            table["base"] = table["base"].map(lambda label: _renamed(label, names))
        runs = []
        for run in folder.runs:
            label = label_of(run.row_names)
            if (new := _renamed(label, names)) != label:
                run = replace(run, variant=Variant(new), trained=Variant(new))
            runs.append(run)
        renamed.append(replace(folder, table=table, runs=runs))
    return renamed
