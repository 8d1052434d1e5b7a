"""The map in docs/architecture.md is that of the code, and its ways are straight."""

from __future__ import annotations

import functools
import re
import threading
from typing import Any

import pytest

from tests.paths import ROOT, run_python
from tests.ways import calls_of, levels_of, rooms_table

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PART = re.compile(r"<!-- (\w+) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)
WAYS = ("compare", "fit", "round")


def edges(drawing: str) -> set[tuple[str, str]]:
    """The calls of a drawing."""
    pairs = set()
    for line in drawing.splitlines():
        caller, _, calls = line[3:].partition("->")
        pairs |= {(caller.strip(), callee.strip()) for callee in calls.split(",") if callee.strip()}
    return pairs


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What `python -m tests.ways` prints: in a fresh process, where nothing is cached."""
    done = run_python("-m", "tests.ways")
    assert done.returncode == 0, done.stderr
    return dict(PART.findall(done.stdout))


def test_the_rooms_are_those_of_the_import_contract() -> None:
    assert dict(PART.findall(MAP))["rooms"] == rooms_table()


@pytest.mark.parametrize("way", WAYS)
def test_the_drawings_are_those_of_real_calls(way: str, printed: dict[str, str]) -> None:
    """`python -m tests.ways` fails for a room that is entered again, and for an unused callback."""
    assert dict(PART.findall(MAP))[way] == printed[way]
    assert edges(printed[way])


def test_a_room_that_is_entered_again_is_found_out() -> None:
    with pytest.raises(ValueError, match="cycle"):
        levels_of({("a", "b"), ("b", "c"), ("c", "a")})


def test_no_kind_of_call_is_exempt() -> None:
    """Closures, generators, other threads and calls through other packages have edges, too."""
    names: dict[str, Any] = {}
    for room, text in {
        "step": "def closure():\n    return lambda: None\ndef items():\n    yield 1\n",
        "ledger": "def iterate(values):\n    return list(map(str, values))\n",
        "history": "def call(function):\n    functools.partial(function)()\n",
        "checks": "def start(function):\n    t = threading.Thread(target=function)\n"
        "    t.start()\n    t.join()\n",
    }.items():
        names |= {"functools": functools, "threading": threading}
        exec(compile(text, str(ROOT / "boostsample" / f"{room}.py"), "exec"), names)
    closure, items = names["closure"](), names["items"]()
    assert calls_of(lambda: names["iterate"](items)) == {("ledger", "step"): {"items"}}
    assert calls_of(lambda: names["call"](closure)) == {
        ("history", "step"): {"closure.<locals>.<lambda>"}
    }
    assert calls_of(lambda: names["start"](lambda: names["call"](closure))) == {
        ("history", "step"): {"closure.<locals>.<lambda>"}
    }


def test_the_interface_of_rows_is_typed() -> None:
    text = (ROOT / "boostsample" / "rows" / "protocol.py").read_text(encoding="utf-8")
    assert not re.search(r"\b(Any|object\.__new__|SimpleNamespace)\b", text)


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
