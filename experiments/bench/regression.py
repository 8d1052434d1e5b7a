"""The ratios of a run beside those that were kept of an earlier one.

A ratio is a cost in units of another cost of the same run, or a slope: what a processor's speed
cancels out of, so that runs of different days and machines can be compared. Stores, caches and
memory do not keep step from one kind of processor to the next, so that each kind has a reference of
its own. Each ratio is kept with a tolerance of its own, from how it scattered when it was measured,
several times over. Ratios are compared only between runs on the same data at the same sizes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from boostsample.errors import DataError
from boostsample.experiments.bench.ratios import Ratio, Section
from boostsample.experiments.bench.record import digest
from boostsample.experiments.common.files import one_line, reason
from boostsample.experiments.tables.tables import Table

__all__ = [
    "FORMAT",
    "REFERENCES",
    "Change",
    "Comparison",
    "Kept",
    "Reference",
    "changes_table",
    "compare",
    "read_reference",
    "reference_of",
    "shipped_reference",
    "tolerance_of",
]

FORMAT = 1
"""Version of the file's format; readers refuse those that they do not know."""
REFERENCES = Path(__file__).with_name("references")
"""The references that ship with the package, one for each kind of processor."""
VERDICTS = ("worse", "better", "same", "new", "missing")

_LEAST_TOLERANCE = 0.15
_SPREADS = 4.0


class Kept(NamedTuple):
    """A ratio of the reference, and by which part of it another may be larger."""

    value: float
    tolerance: float


@dataclass(frozen=True)
class Reference:
    """What a bench once measured: by section, the conditions and the ratios."""

    conditions: Mapping[str, Mapping[str, Any]]
    ratios: Mapping[str, Mapping[str, Kept]]
    machine: Mapping[str, Any]
    created: str


class Change(NamedTuple):
    """A ratio now and then; one of the two is None where it is new or missing."""

    section: str
    name: str
    now: float | None
    kept: Kept | None

    @property
    def part(self) -> float:
        """What has been added, as a part of what was kept; negative is better."""
        assert self.now is not None
        assert self.kept is not None
        return self.now / self.kept.value - 1.0

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if self.kept is None:
            return "new"
        if self.now is None:
            return "missing"
        if abs(self.part) <= self.kept.tolerance:
            return "same"
        return "worse" if self.part > 0 else "better"


@dataclass(frozen=True)
class Comparison:
    """All changes of the sections that could be compared; why others could not."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def worse(self) -> tuple[Change, ...]:
        """Those that are worse by more than their tolerance."""
        return tuple(change for change in self.changes if change.verdict == "worse")


def tolerance_of(ratio: Ratio) -> float:
    """By which part a ratio may grow: four times its spread, at least 0.15.

    >>> tolerance_of(Ratio(2.0, 0.01)), tolerance_of(Ratio(2.0, 0.1))
    (0.15, 0.4)
    """
    return max(_LEAST_TOLERANCE, _SPREADS * ratio.spread)


def compare(sections: Mapping[str, Section], reference: Reference) -> Comparison:
    """The ratios of some sections beside those of the reference; others do not count."""
    changes: list[Change] = []
    notes = []
    for section, found in sections.items():
        if not found.ratios:
            continue
        if section not in reference.ratios:
            notes.append(f"{section}: the reference has nothing of it")
            continue
        different = _differences(_plain(found.conditions), reference.conditions[section])
        if different:
            notes.append(f"{section}: not compared, {different}")
            continue
        kept = reference.ratios[section]
        for name in dict.fromkeys([*kept, *found.ratios]):
            now = found.ratios[name].value if name in found.ratios else None
            changes.append(Change(section, name, now, kept.get(name)))
    return Comparison(tuple(changes), tuple(notes))


def _differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> str:
    names = [name for name in dict.fromkeys([*then, *now]) if now.get(name) != then.get(name)]
    return "; ".join(
        f"{name} is {now.get(name)} here and {then.get(name)} in the reference" for name in names
    )


def changes_table(comparison: Comparison) -> Table:
    """Every ratio, now and as it was kept."""
    return Table(
        "ratios of this run and of the reference; worse or better is a change in percent beyond "
        "the tolerance",
        ("", "now", "kept", "change", "tolerance", ""),
        tuple(
            (
                f"{one.section}: {one.name}",
                "" if one.now is None else f"{one.now:.2f}",
                "" if one.kept is None else f"{one.kept.value:.2f}",
                "" if one.now is None or one.kept is None else f"{100 * one.part:+.0f}",
                "" if one.kept is None else f"{100 * one.kept.tolerance:.0f}",
                "" if one.verdict == "same" else one.verdict,
            )
            for one in comparison.changes
        ),
    )


def reference_of(sections: Mapping[str, Section], facts: Mapping[str, Any]) -> dict[str, Any]:
    """What `--keep` writes of some sections, as JSON takes it.

    `facts` are `created`, `machine` and `versions`.
    """
    return {
        "format": FORMAT,
        **facts,
        "sections": {
            name: {
                "conditions": _plain(found.conditions),
                "ratios": {
                    key: {
                        "value": float(f"{ratio.value:.4g}"),
                        "tolerance": float(f"{tolerance_of(ratio):.2g}"),
                    }
                    for key, ratio in found.ratios.items()
                },
            }
            for name, found in sections.items()
            if found.ratios
        },
    }


def _plain(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    read: dict[str, Any] = json.loads(json.dumps(conditions))
    return read


def shipped_reference(processor: str, folder: Path = REFERENCES) -> Reference | None:
    """Of the references that ship, the one of this processor, or else the newest; None of none."""
    every = [read_reference(path) for path in sorted(folder.glob("*.json"))]
    same = [one for one in every if one.machine.get("processor") == processor]
    return max(same or every, key=lambda one: one.created, default=None)


def read_reference(path: Path) -> Reference:
    """Read a reference, its checksum verified.

    Raises
    ------
    DataError
        It is missing, damaged, edited, or of a later format.
    """
    try:
        record = json.loads(path.read_bytes())
        if record["format"] != FORMAT:
            raise DataError(
                f"the reference '{path}' has format {record['format']}, this version of "
                f"boostsample reads format {FORMAT}; write a new one with --keep"
            )
        if record.pop("sha256") != digest(record):
            raise DataError(
                f"the reference '{path}' is damaged or was edited: its checksum is another; write "
                "a new one with --keep"
            )
        sections = record["sections"]
        return Reference(
            {name: section["conditions"] for name, section in sections.items()},
            {
                name: {
                    key: Kept(float(one["value"]), float(one["tolerance"]))
                    for key, one in section["ratios"].items()
                }
                for name, section in sections.items()
            },
            record["machine"],
            record["created"],
        )
    except OSError as error:
        raise DataError(
            f"the reference '{path}' cannot be read: {reason(error)}; name another file, or write "
            "one with --keep"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"the reference '{path}' is not one that --keep has written ({one_line(error)}); write "
            "a new one"
        ) from error
