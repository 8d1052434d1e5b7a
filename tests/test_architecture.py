"""The map in docs/architecture.md is that of the code, and its ways are straight."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.paths import ROOT
from tests.ways import levels_of, rooms_table

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PART = re.compile(r"<!-- (\w+) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)
WAYS = ("compare", "fit", "round")


def edges(drawing: str) -> set[tuple[str, str]]:
    """The calls of a drawing."""
    found = set()
    for line in drawing.splitlines():
        here, _, calls = line[3:].partition("->")
        found |= {(here.strip(), there.strip()) for there in calls.split(",") if there.strip()}
    return found


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What `python -m tests.ways` prints: in a fresh process, where nothing is cached."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ways"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return dict(PART.findall(done.stdout))


def test_the_rooms_are_those_of_the_import_contract() -> None:
    assert dict(PART.findall(MAP))["rooms"] == rooms_table()


@pytest.mark.parametrize("way", WAYS)
def test_the_drawings_are_those_of_real_calls(way: str, printed: dict[str, str]) -> None:
    """A room that is entered again has no level, and `python -m tests.ways` fails."""
    assert dict(PART.findall(MAP))[way] == printed[way]
    assert edges(printed[way])


def test_a_room_that_is_entered_again_is_found_out() -> None:
    with pytest.raises(ValueError, match="cycle"):
        levels_of({("a", "b"), ("b", "c"), ("c", "a")})


def test_every_place_of_the_map_is_there() -> None:
    table = MAP.split("## Where to put it")[1]
    places = re.findall(r"`([a-z_/]+(?:/|\.py))`", table)
    assert len(places) > 8
    missing = [
        place
        for place in places
        if not any((ROOT / base / place).exists() for base in ("", "boostsample", "experiments"))
    ]
    assert missing == []
