from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """The client of a cluster in this process."""
    from tests.dask.in_process import in_process_client

    with in_process_client() as client:
        yield client
