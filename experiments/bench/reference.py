"""Results as JSON, and the check of a run's ratios against kept ones.

A ratio is a cost in units of another cost of the same run, or a slope: the processor's speed
cancels, so runs of different days and machines can be compared. Stores, caches and memory differ
between kinds of processors, so each kind has its own reference. Ratios are compared only between
runs on the same data at the same sizes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from boostsample.errors import DataError, one_line, os_fault
from boostsample.experiments.bench.timing import TimingResult
from boostsample.experiments.common.machine import machine, machine_cache, versions
from boostsample.experiments.tables.tables import Table
from boostsample.files.atomic import write_file
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_json

FORMAT = 1
"""Version of the file's format; others raise DataError."""
BENCH_REFERENCES = Path(__file__).with_name("references")
"""The references that ship with the package, one for each kind of processor."""

_LEAST_TOLERANCE = 0.15
_SPREADS = 4.0


class _KeptRatio(NamedTuple):
    """A ratio of the reference; changes within its relative tolerance are ignored."""

    value: float
    tolerance: float


@dataclass(frozen=True)
class Reference:
    """Conditions and ratios of an earlier run, by section."""

    conditions: Mapping[str, Mapping[str, Any]]
    ratios: Mapping[str, Mapping[str, _KeptRatio]]
    machine: Mapping[str, Any]
    created: str


class RatioChange(NamedTuple):
    """A ratio now and in the reference; None where it is missing or new."""

    section: str
    name: str
    now: float | None
    kept: _KeptRatio | None

    @property
    def part(self) -> float:
        """The relative change, 0 if one of the two is None; negative is better."""
        return self.now / self.kept.value - 1.0 if self.now and self.kept else 0.0

    @property
    def verdict(self) -> str:
        """One of worse, better, same, new and missing."""
        if self.kept is None:
            return "new"
        if self.now is None:
            return "missing"
        if abs(self.part) <= self.kept.tolerance:
            return "same"
        return "worse" if self.part > 0 else "better"


def check_against_reference(
    sections: Mapping[str, TimingResult], reference: Reference
) -> tuple[list[RatioChange], list[str]]:
    """The changes of the sections that ran under equal conditions, and notes on the others."""
    changes: list[RatioChange] = []
    notes = []
    for section, found in sections.items():
        if section not in reference.ratios:
            notes.append(f"{section}: the reference has no such section")
            continue
        now, then = json.loads(json.dumps(found.conditions)), reference.conditions[section]
        different = [
            f"{name} is {now.get(name)} here and {then.get(name)} in the reference"
            for name in dict.fromkeys([*then, *now])
            if now.get(name) != then.get(name)
        ]
        if different:
            notes.append(f"{section}: not compared, {'; '.join(different)}")
            continue
        kept = reference.ratios[section]
        for name in dict.fromkeys([*kept, *found.ratios]):
            changes.append(RatioChange(section, name, found.ratios.get(name), kept.get(name)))
    return changes, notes


def changes_table(changes: Sequence[RatioChange]) -> Table:
    """Every ratio now and in the reference."""
    return Table(
        "ratios of this run and of the reference; worse or better is a change beyond the tolerance",
        ("", "now", "kept", "change", "tolerance", ""),
        tuple(
            (
                f"{one.section}: {one.name}",
                "" if one.now is None else f"{one.now:.2f}",
                "" if one.kept is None else f"{one.kept.value:.2f}",
                "" if one.now is None or one.kept is None else f"{one.part:+.0%}",
                "" if one.kept is None else f"{one.kept.tolerance:.0%}",
                "" if one.verdict == "same" else one.verdict,
            )
            for one in changes
        ),
    )


def reference_ratio(passes: Sequence[float]) -> _KeptRatio:
    """The median of a ratio over some passes, and four times their relative scatter, 0.15 at least.

    >>> reference_ratio([2.0, 2.2, 1.8])
    _KeptRatio(value=2.0, tolerance=0.4)
    """
    value = statistics.median(passes)
    spread = statistics.stdev(passes) / abs(value) if len(passes) > 1 else 0.0
    tolerance = max(_LEAST_TOLERANCE, _SPREADS * spread)
    return _KeptRatio(float(f"{value:.4g}"), float(f"{tolerance:.2g}"))


def reference_record(
    passes: Sequence[Mapping[str, TimingResult]], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Numbers of the first pass, and ratios of all with tolerances, as JSON takes them."""
    return {
        "format": FORMAT,
        **facts,
        "sections": {
            name: {
                "conditions": dict(found.conditions),
                "found": dict(found.numbers),
                "ratios": {
                    key: reference_ratio([one[name].ratios[key] for one in passes])._asdict()
                    for key in found.ratios
                },
            }
            for name, found in passes[0].items()
        },
    }


def reference_facts() -> dict[str, Any]:
    """The time, the machine and the versions: `created`, `machine` and `versions`."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {**machine(), "last_cache_bytes": machine_cache()},
        "versions": versions(),
    }


def write_reference(record: Mapping[str, Any], path: Path) -> None:
    """Write a record with its checksum atomically; DataError if it cannot be written."""
    text = json.dumps({**record, "sha256": sha256_of_json(record)}, indent=2)
    write_file(path, f"{text}\n".encode(), "results")


def shipped_reference(processor: str, folder: Path = BENCH_REFERENCES) -> Reference | None:
    """The shipped reference of this processor, else the newest; None if there is none."""
    every = [read_reference(path) for path in sorted(folder.glob("*.json"))]
    same = [one for one in every if one.machine.get("processor") == processor]
    return max(same or every, key=lambda one: one.created, default=None)


def read_reference(path: Path) -> Reference:
    """Read a file of `--keep` or `--json` and verify its checksum.

    DataError if the file is missing, damaged, edited, or of another format.
    """
    try:
        record = read_json(path.read_bytes())
        if record["format"] != FORMAT:
            raise DataError(
                f"the reference '{path}' has format {record['format']}, this version of "
                f"boostsample reads format {FORMAT}; write a new one with --keep"
            )
        if record.pop("sha256") != sha256_of_json(record):
            raise DataError(
                f"the reference '{path}' is damaged or was edited: its checksum is wrong; write a "
                "new one with --keep"
            )
        sections = record["sections"].items()
        conditions = {name: section["conditions"] for name, section in sections}
        ratios = {
            name: {key: _KeptRatio(**one) for key, one in section["ratios"].items()}
            for name, section in sections
        }
        return Reference(conditions, ratios, record["machine"], record["created"])
    except DataError:
        raise
    except OSError as error:
        raise DataError(
            f"the reference '{path}' cannot be read: {os_fault(error)}; name another file, or "
            "write one with --keep"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"the reference '{path}' was not written by --keep ({one_line(error)}); write a new one"
        ) from error
