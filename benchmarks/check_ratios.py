"""Compare the ratios of a run of the benchmarks with kept ones, or keep them.

    pytest -n 0 benchmarks --benchmark-enable --benchmark-json run.json
    python -m benchmarks.check_ratios run.json
    python -m benchmarks.check_ratios run1.json run2.json run3.json --keep KIND

A ratio is a cost in units of another cost of the same run, or a slope: the processor's speed
cancels, so runs of different days and machines can be compared. Stores, caches and memory differ
between kinds of processors, so each kind has its own reference, `benchmarks/references/KIND.json`.
Ratios are compared only between runs on the same data at the same sizes. The exit code is 1 if a
ratio is worse by more than its tolerance.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boostsample.errors import BoostSampleError, DataError, one_line, os_fault
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.tables.formats import to_text
from boostsample.experiments.tables.tables import Table

REFERENCES = Path(__file__).with_name("references")
LEAST_TOLERANCE = 0.15
_SPREADS = 4.0

Ratios = dict[str, dict[str, Any]]
"""Of each section: `conditions`, and `ratios`, by name a `value` and a `tolerance`."""


def read_run(path: Path) -> dict[str, Any]:
    """The creation time, the processor and the `sections` of a file of `--benchmark-json`.

    DataError if it is not such a file.
    """
    try:
        record = json.loads(path.read_text("utf-8"))
        sections: Ratios = {}
        for benchmark in record["benchmarks"]:
            more = benchmark["extra_info"]
            if "ratio" in more:
                section = sections.setdefault(
                    more["section"], {"conditions": more["conditions"], "ratios": {}}
                )
                section["ratios"][more["ratio_name"]] = more["ratio"]
        return {"created": record["datetime"], "sections": sections}
    except OSError as error:
        raise DataError(f"the run '{path}' cannot be read: {os_fault(error)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"the run '{path}' was not written by --benchmark-json ({one_line(error)}); run "
            "pytest -n 0 benchmarks --benchmark-enable --benchmark-json FILE"
        ) from error


def kept_ratio(passes: Sequence[float]) -> dict[str, float]:
    """The median of a ratio over some passes, and four times their relative scatter, 0.15 at least.

    >>> kept_ratio([2.0, 2.2, 1.8])
    {'value': 2.0, 'tolerance': 0.4}
    """
    value = statistics.median(passes)
    spread = statistics.stdev(passes) / abs(value) if len(passes) > 1 else 0.0
    tolerance = max(LEAST_TOLERANCE, _SPREADS * spread)
    return {"value": float(f"{value:.4g}"), "tolerance": float(f"{tolerance:.2g}")}


def reference_of(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A reference from passes of the same benchmarks on this machine."""
    return {
        "created": runs[0]["created"],
        "processor": machine()["processor"],
        "versions": versions(),
        "sections": {
            name: {
                "conditions": section["conditions"],
                "ratios": {
                    key: kept_ratio([run["sections"][name]["ratios"][key] for run in runs])
                    for key in section["ratios"]
                },
            }
            for name, section in runs[0]["sections"].items()
        },
    }


def reference_for(processor: str) -> dict[str, Any]:
    """The newest reference of this processor, else of any."""
    references = [json.loads(path.read_text("utf-8")) for path in sorted(REFERENCES.glob("*.json"))]
    same = [reference for reference in references if reference["processor"] == processor]
    newest: dict[str, Any] = max(same or references, key=lambda reference: reference["created"])
    return newest


def verdict(now: float | None, kept: Mapping[str, float] | None) -> str:
    """One of worse, better, same, new and missing."""
    if kept is None or now is None:
        return "new" if kept is None else "missing"
    change = now / kept["value"] - 1.0
    if abs(change) <= kept["tolerance"]:
        return "same"
    return "worse" if change > 0 else "better"


def compare_ratios(now: Ratios, kept: Ratios) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows (name, now, kept, change, tolerance, verdict) of a table, and notes.

    Sections that did not run are left out; those under other conditions have a note.
    """
    rows: list[tuple[str, ...]] = []
    notes = []
    for name, section in now.items():
        reference = kept.get(name)
        if reference is None:
            notes.append(f"{name}: the reference has no such section")
            continue
        here, there = section["conditions"], reference["conditions"]
        different = [
            f"{key} is {here.get(key)} here and {there.get(key)} in the reference"
            for key in dict.fromkeys([*there, *here])
            if here.get(key) != there.get(key)
        ]
        if different:
            notes.append(f"{name}: not compared, {'; '.join(different)}")
            continue
        for key in dict.fromkeys([*reference["ratios"], *section["ratios"]]):
            ratio, old = section["ratios"].get(key), reference["ratios"].get(key)
            rows.append(
                (
                    f"{name}: {key}",
                    "" if ratio is None else f"{ratio:.2f}",
                    "" if old is None else f"{old['value']:.2f}",
                    "" if ratio is None or old is None else f"{ratio / old['value'] - 1:+.0%}",
                    "" if old is None else f"{old['tolerance']:.0%}",
                    verdict(ratio, old).replace("same", ""),
                )
            )
    return rows, notes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, help="files of --benchmark-json")
    parser.add_argument("--keep", metavar="KIND", help="write benchmarks/references/KIND.json")
    options = parser.parse_args(arguments)
    try:
        runs = [read_run(path) for path in options.runs]
    except BoostSampleError as error:
        parser.error(str(error))
    if options.keep:
        target = REFERENCES / f"{options.keep}.json"
        target.write_text(json.dumps(reference_of(runs), indent=1) + "\n", "utf-8")
        sys.stdout.write(f"reference: {target}\n")
        return 0
    processor = machine()["processor"]
    reference = reference_for(processor)
    rows, notes = compare_ratios(runs[0]["sections"], reference["sections"])
    title = "ratios of this run and of the reference; worse or better is beyond the tolerance"
    columns = ("", "now", "kept", "change", "tolerance", "")
    n_worse = sum(row[-1] == "worse" for row in rows)
    lines = [to_text(Table(title, columns, tuple(rows)))] if rows else []
    lines.append(
        f"{n_worse or 'no'} ratio{'' if n_worse == 1 else 's'} of {len(rows)} worse than the "
        f"reference of {reference['created'][:10]} ({reference['processor']})"
    )
    if reference["processor"] != processor:
        notes.insert(0, f"the reference is not of this processor ({processor})")
    lines += [f"note: {note}" for note in notes]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(n_worse > 0)


if __name__ == "__main__":
    sys.exit(main())
