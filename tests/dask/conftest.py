from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module", autouse=True)
def _dask_draws_from_another_state() -> Iterator[None]:
    """Dask estimates the size of columns of objects by `np.random.choice`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numpy.random.choice", np.random.default_rng(0).choice)
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """The client of a cluster in this process."""
    from tests.dask.in_process import in_process_client

    with in_process_client() as client:
        yield client
