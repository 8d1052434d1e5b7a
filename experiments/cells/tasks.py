"""Tasks: the cells that a plan needs, each identified by a key.

A cell's key is a hash of everything that determines its bits, except the numerics
(`boostsample.loop.numerics`): a cell of other numerics is found under the same name, moved aside
and computed again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from boostsample.banks.bank_forms import bank_record, bank_settings
from boostsample.errors import SettingError
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant, plain_setting
from boostsample.hashing import code_of, sha256_of_bytes, sha256_of_json
from boostsample.learners import make_learner
from boostsample.loop.budgets import EQUAL
from boostsample.names import short_name
from boostsample.registry import make_objective

_CURVE_POINTS = 40
_UNKNOWN = "unknown"  # code that cannot be read


def cell_key(facts: Mapping[str, Any]) -> str:
    """Hash facts that JSON takes into a key of 32 hexadecimal digits."""
    return sha256_of_json(facts)[:32]


@dataclass(frozen=True)
class CellTask:
    """A cell to train and score."""

    variant: Variant  # the strategy with concrete settings
    repetition: int
    budget: int  # mean looks per search
    plan: Plan = field(repr=False)  # of its setup
    facts: Mapping[str, Any] = field(repr=False)  # all that determines its bits, as JSON takes it
    points: tuple[int, ...] = field(repr=False)  # numbers of stumps to score, as in `cell_file`
    marks: tuple[int, ...] = ()
    history: bool = False  # whether to keep the history rows
    regret: int | None = None  # see `rounds_of_regret`
    budget_kind: str = EQUAL  # see `boostsample.loop.budgets`

    @cached_property
    def key(self) -> str:
        """The cell's key."""
        return cell_key(self.facts)

    @property
    def n_rounds(self) -> int:
        """Rounds to train."""
        return int(self.facts["n_rounds"])

    @property
    def name(self) -> str:
        """The cell's name in messages."""
        return f"{self.variant.label} of {self.facts['data']['name']}, repetition {self.repetition}"

    def continues(self, facts: Mapping[str, Any]) -> bool:
        """Whether these are the facts of the same run with fewer rounds."""
        longer = {**facts, "n_rounds": self.n_rounds}
        return bool(facts["n_rounds"] < self.n_rounds and cell_key(longer) == self.key)

    @property
    def slug(self) -> str:
        """The readable part of the name of the cell's file."""
        text = f"{self.facts['data']['name']}-{self.variant.label}-r{self.repetition}"
        return re.sub(r"[^A-Za-z0-9_.=]+", "-", text).strip("-.")[:80]

    @property
    def file_name(self) -> str:
        """Name of the cell's file: a readable part and the key."""
        return f"{self.slug}-{self.key}.npz"


def points_to_score(
    marks: Sequence[int], n_settings: int = 1, score_every: float | None = None
) -> tuple[int, ...]:
    """Numbers of stumps to score: marks, these divided by the settings to tune over, and a curve.

    `score_every` is a percentage of growth, see `Plan`.
    """
    shared = {mark // n_settings for mark in marks if mark >= n_settings}
    growth = set() if score_every is None else growth_points(marks[-1], score_every)
    return tuple(sorted({*marks, *shared, *curve_points(marks[-1]), *growth}))


def rounds_of_regret(points: Iterable[int], n_rounds: int, every: int | None) -> set[int]:
    """The rounds of a run in which the best edge of all features is measured.

    Those at the scored `points` and, unless it is 0, each multiple of `every`; none for None.

    >>> sorted(rounds_of_regret([1, 2, 5, 20], 10, 4))
    [1, 2, 4, 5, 8]
    """
    if every is None:
        return set()
    multiples = range(every, n_rounds + 1, every) if every else ()
    return {point for point in points if point <= n_rounds} | {*multiples}


def growth_points(n_rounds: int, percent: float) -> set[int]:
    """Numbers of stumps that grow by about so many percent each.

    >>> sorted(growth_points(10, 50))
    [1, 2, 3, 5, 7, 10]
    """
    n_steps = math.ceil(math.log(n_rounds) / math.log1p(percent / 100))
    return set(np.rint(np.geomspace(1, n_rounds, n_steps + 1)).astype(int).tolist())


def curve_points(n_rounds: int) -> list[int]:
    """At most 40 numbers of stumps, about equally far apart on a log scale."""
    curve = np.geomspace(1, n_rounds, min(_CURVE_POINTS, n_rounds))
    return sorted(set(np.rint(curve).astype(int).tolist()))


def task_groups(prepared: Prepared, n_rounds: int | None = None) -> list[tuple[CellTask, ...]]:
    """The tasks of a plan by strategy, then repetition; `n_rounds` replaces the plan's.

    A group has one task for each setting of the tuning grid, in its order; the best run is kept.
    """
    plan, data = prepared.plan, prepared.data
    families = [
        [
            family.name,
            type(family).__qualname__,
            family.n_features,
            family.settings(),
            *foreign_facts(type(family)).values(),
        ]
        for family in prepared.families
    ]
    parts = {"learner": make_learner(plan.learner), "objective": make_objective(plan.objective)}
    classes = {f"{name}_class": foreign_facts(type(part)) for name, part in parts.items()}
    run_settings = {
        name: short_name(value) if isinstance(value, str) else value
        for name, value in plan.run_settings.items()
    }
    # Forms of banks share cells, except where they are compared.
    is_compared = "bank" in prepared.axes and plan.bank.name != "memory"
    of_bank = {"bank": bank_record(plan.bank.name, plan.bank.settings)} if is_compared else {}
    common = {
        "data": {"name": data.name, "sha256": data.digest},
        "families": cell_key({"families": families}),
        **of_bank,
        "reference": bank_settings(plan.bank.name, plan.bank.settings)["reference"],
        "learner": short_name(plan.learner),
        **{name: facts for name, facts in classes.items() if facts},
        "weights": plan.weights,
        **run_settings,  # keys of full steps are as before
        **plan.limits,  # as are those of runs without limits
        "seed": plan.seed,
        "n_rounds": plan.n_rounds if n_rounds is None else n_rounds,
    }
    splits = [
        sha256_of_bytes(
            b"".join(b"%d;" % rows.size + rows.astype("<i8").tobytes() for rows in split)
        )
        for split in prepared.splits
    ]

    def task(variant: Variant, repetition: int, points: tuple[int, ...]) -> CellTask:
        budget = prepared.budget(variant, repetition)
        kind = prepared.budget_kind(variant, repetition)
        stream = variant.stream(data.seeded_by, plan.seed, repetition).entropy
        facts = {
            **common,
            "split": splits[repetition],
            "strategy": _strategy_facts(variant),
            "budget": budget,
            **({} if kind == EQUAL else {"budget_kind": kind}),  # keys of equal ones are as before
            "repetition": repetition,
            "stream": str(stream),
        }
        counts = plan.marks, plan.history, plan.regret, kind
        return CellTask(variant, repetition, budget, plan, facts, points, *counts)

    groups = []
    for variant in prepared.variants:
        points = points_to_score(plan.marks, len(variant.trained), plan.score_every)
        for repetition in range(plan.repeats):
            groups.append(tuple(task(trained, repetition, points) for trained in variant.trained))
    return groups


def _strategy_facts(variant: Variant) -> dict[str, Any]:
    strategy = variant.strategy()
    added = strategy.added_settings
    return {
        "name": short_name(variant.name),
        "settings": {key: plain_setting(value) for key, value in sorted(variant.settings.items())},
        "parameters": {
            key: plain_setting(value)
            for key, value in sorted(strategy.get_params().items())
            if key not in added or value != added[key]
        },
        **foreign_facts(type(strategy)),
    }


def check_code(facts: Mapping[str, Any], **parts: object) -> None:
    """SettingError if the file of a strategy, learner or objective is not that of the facts.

    A file that is edited during a comparison would change the runs that have not begun.
    """
    for name, part in parts.items():
        known = facts.get(name if name == "strategy" else f"{name}_class", {}).get("code")
        code = foreign_facts(type(part)).get("code")
        if code != known and _UNKNOWN not in (code, known):
            raise SettingError(
                f"the code of the {name} {type(part).__name__} has changed since the comparison "
                "began; run the same command again, which trains its runs anew"
            )


def foreign_facts(kind: type[Any]) -> dict[str, str]:
    """Name and source checksum of a class of another distribution; empty for one of ours."""
    try:
        code = code_of(kind)
    except SettingError:
        # Only a comparison in memory has such a class: commands name registered classes, which
        # have files.
        code = _UNKNOWN
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "code": code} if code else {}
