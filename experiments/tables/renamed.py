"""Tables with new names of strategies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from boostsample.experiments.common.new_names import check_new_names
from boostsample.experiments.plan.variants import CHARGED_VARIANT
from boostsample.experiments.tables.score_tables import ScoreTable


def renamed_tables(tables: Sequence[ScoreTable], names: Mapping[str, str]) -> list[ScoreTable]:
    """Tables with new names of strategies in their headers, entries and notes.

    A charged strategy follows its own. SettingError if an old name is in no table, or two
    strategies would have the same name.
    """
    labels = dict.fromkeys(score.strategy for table in tables for score in table.scores)
    check_new_names(names, labels)
    charged = {
        f"{old}{CHARGED_VARIANT}": f"{new}{CHARGED_VARIANT}"
        for old, new in names.items()
        if f"{old}{CHARGED_VARIANT}" in labels
    }
    every = {**charged, **names}
    return [_renamed(table, every) for table in tables]


def _renamed(table: ScoreTable, names: Mapping[str, str]) -> ScoreTable:
    longest = sorted(names, key=len, reverse=True)
    label = re.compile(rf"(?<![\w*:=.-])({'|'.join(map(re.escape, longest))})(?![\w*=-]|:\w)")
    return replace(
        table,
        header=tuple(names.get(name, name) for name in table.header),
        rows=tuple((names.get(row[0], row[0]), *row[1:]) for row in table.rows),
        notes=tuple(label.sub(lambda match: names[match[0]], note) for note in table.notes),
        scores=tuple(
            replace(one, strategy=names.get(one.strategy, one.strategy)) for one in table.scores
        ),
    )
