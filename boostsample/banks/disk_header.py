"""The header of a bank on disk: `header.json`, what the bank holds, with a checksum."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boostsample.errors import DataError
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_json

DISK_HEADER = "header.json"


class DamagedBank(DataError):
    """A cached feature bank that cannot be used; the message is a phrase with the reason."""


def write_bank_header(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write `header.json` with a checksum over its content."""
    text = json.dumps({**facts, "sha256": sha256_of_json(facts)}, indent=2)
    with (folder / DISK_HEADER).open("x", encoding="ascii") as stream:
        stream.write(f"{text}\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_bank_header(folder: Path) -> dict[str, Any]:
    """Read `header.json`; DamagedBank unless `write_bank_header` wrote it for this bank."""
    try:
        facts: dict[str, Any] = read_json((folder / DISK_HEADER).read_bytes())
        intact = facts.pop("sha256") == sha256_of_json(facts)
        key = facts["key"]
    except FileNotFoundError:
        raise DamagedBank(f"{DISK_HEADER} is missing") from None
    except OSError as error:
        raise DamagedBank(f"{DISK_HEADER} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedBank(f"{DISK_HEADER} is damaged") from error
    if not intact:
        raise DamagedBank(f"{DISK_HEADER} is damaged or was edited")
    if key != folder.name:
        raise DamagedBank(f"it is the bank {key[:12]} under another name")
    return facts
