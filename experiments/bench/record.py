"""What a bench writes, as JSON: its findings, with the machine and the versions they belong to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from boostsample.experiments.bench.bounds import last_cache
from boostsample.experiments.bench.ratios import Section
from boostsample.experiments.cells.environment import machine, versions
from boostsample.experiments.common.files import atomic, unwritable

__all__ = ["FORMAT", "digest", "facts", "record_of", "write"]

FORMAT = 1
"""Version of the record's format."""


def facts() -> dict[str, Any]:
    """When, on what and with what: `created`, `machine` and `versions`."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {**machine(), "last_cache_bytes": last_cache()},
        "versions": versions(),
    }


def record_of(sections: Mapping[str, Section], facts: Mapping[str, Any]) -> dict[str, Any]:
    """All findings, as JSON takes them."""
    return {
        "format": FORMAT,
        **facts,
        "sections": {
            name: {
                "conditions": dict(found.conditions),
                "found": dict(found.numbers),
                "ratios": {key: ratio._asdict() for key, ratio in found.ratios.items()},
            }
            for name, found in sections.items()
        },
    }


def write(record: Mapping[str, Any], path: Path) -> None:
    """Write a record with its checksum, as a whole or not at all.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    text = json.dumps({**record, "sha256": digest(record)}, indent=2)
    try:
        with atomic(path) as stream:
            stream.write(f"{text}\n".encode())
    except OSError as error:
        raise unwritable(path, "results", error) from error


def digest(record: Mapping[str, Any]) -> str:
    """The checksum of a record: SHA-256 of its JSON without it."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
