"""Compare the ratios of a run of the benchmarks with kept ones, or keep them.

    pytest -n 0 benchmarks --benchmark-enable --benchmark-json run.json
    python -m benchmarks.check_ratios run.json
    python -m benchmarks.check_ratios run1.json run2.json run3.json --keep KIND

A ratio is a cost in units of another cost of the same run, or a slope: the processor's speed
cancels, so runs of different days and machines can be compared. Stores, caches and memory differ
between kinds of processors, so each kind has its own reference, `benchmarks/references/KIND.json`.
The exit code is 1 if a ratio is worse by more than its tolerance.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.tables.formats import to_text
from boostsample.experiments.tables.tables import Table

REFERENCES = Path(__file__).with_name("references")

Sections = dict[str, dict[str, Any]]
"""Of each section: `conditions`, and `ratios` by name."""


def sections_of(run: dict[str, Any]) -> Sections:
    """The ratios in the content of a file of `--benchmark-json`."""
    sections: Sections = {}
    for benchmark in run["benchmarks"]:
        if "ratio" in (noted := benchmark["extra_info"]):
            new = {"conditions": noted["conditions"], "ratios": {}}
            section = sections.setdefault(noted["section"], new)
            section["ratios"][noted["ratio_name"]] = noted["ratio"]
    return sections


def kept_ratio(passes: Sequence[float]) -> dict[str, float]:
    """The median of a ratio over some passes, and four times their relative scatter, 0.15 at least.

    >>> kept_ratio([2.0, 2.2, 1.8])
    {'value': 2.0, 'tolerance': 0.4}
    """
    value = statistics.median(passes)
    spread = statistics.stdev(passes) / abs(value) if len(passes) > 1 else 0.0
    tolerance = max(0.15, 4.0 * spread)
    return {"value": float(f"{value:.4g}"), "tolerance": float(f"{tolerance:.2g}")}


def reference_of(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A reference from passes of the same benchmarks on this machine."""
    passes = [sections_of(run) for run in runs]
    sections = sections_of(runs[0])
    for name, section in sections.items():
        for key in section["ratios"]:
            section["ratios"][key] = kept_ratio([each[name]["ratios"][key] for each in passes])
    return {
        "created": runs[0]["datetime"],
        "processor": machine()["processor"],
        "versions": versions(),
        "sections": sections,
    }


def reference_for(processor: str) -> dict[str, Any]:
    """The newest reference of this processor, else of any."""
    references = [json.loads(path.read_text("utf-8")) for path in REFERENCES.glob("*.json")]
    same = [reference for reference in references if reference["processor"] == processor]
    newest: dict[str, Any] = max(same or references, key=lambda reference: reference["created"])
    return newest


def compare_ratios(now: Sections, kept: Sections) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows (name, now, kept, change, tolerance, verdict) of a table, and notes.

    Sections that did not run are left out; those under other conditions have a note.
    """
    rows: list[tuple[str, ...]] = []
    notes = []
    for name, section in now.items():
        reference = kept.get(name, {"conditions": None, "ratios": {}})
        if section["conditions"] != reference["conditions"]:
            notes.append(
                f"{name}: not compared, run with {section['conditions']}, but the reference with "
                f"{reference['conditions']}"
            )
            continue
        for key in dict.fromkeys([*reference["ratios"], *section["ratios"]]):
            ratio, old = section["ratios"].get(key), reference["ratios"].get(key)
            change = verdict = ""
            if ratio is None or old is None:
                verdict = "new" if old is None else "missing"
            else:
                grown = ratio / old["value"] - 1.0
                change = f"{grown:+.0%}"
                if abs(grown) > old["tolerance"]:
                    verdict = "worse" if grown > 0 else "better"
            rows.append(
                (
                    f"{name}: {key}",
                    "" if ratio is None else f"{ratio:.2f}",
                    "" if old is None else f"{old['value']:.2f}",
                    change,
                    "" if old is None else f"{old['tolerance']:.0%}",
                    verdict,
                )
            )
    return rows, notes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, help="files of --benchmark-json")
    parser.add_argument("--keep", metavar="KIND", help="write benchmarks/references/KIND.json")
    options = parser.parse_args(arguments)
    runs = [json.loads(path.read_text("utf-8")) for path in options.runs]
    if options.keep:
        target = REFERENCES / f"{options.keep}.json"
        target.write_text(json.dumps(reference_of(runs), indent=1) + "\n", "utf-8")
        sys.stdout.write(f"reference: {target}\n")
        return 0
    processor = machine()["processor"]
    reference = reference_for(processor)
    rows, notes = compare_ratios(sections_of(runs[0]), reference["sections"])
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
