"""docs/BK10.md shows what the kept figures print."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

import pytest

from tests.experiments import figure3
from tests.experiments.table1 import costs, mnist, table1
from tests.paths import ROOT, needs_results

TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "table 1": table1,
    "costs": costs,
    "mnist": mnist,
    **{name: functools.partial(figure3.table, name) for name in figure3.USEFUL},
}


@needs_results
@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_the_page(name: str) -> None:
    page = (ROOT / "docs" / "BK10.md").read_text("utf-8")
    (block,) = re.findall(rf"<!-- {name} -->\n(.*?)<!-- end -->", page, flags=re.DOTALL)
    assert block.strip() == "\n".join(TABLES[name]())
