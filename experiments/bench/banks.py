"""Seconds to build a feature bank, in memory and on disk, and to open it again from the cache."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.banks.cache import cached_bank
from boostsample.experiments.bench.looks import seconds_of
from boostsample.experiments.bench.problem import Progress
from boostsample.experiments.bench.ratios import Section
from boostsample.experiments.tables.tables import Table
from boostsample.families.default_sets import families_for
from boostsample.family import Family

__all__ = ["bank_section", "made_images"]

_SPOT = 4
_OPENED = "opened from disk"


def made_images(n_images: int, side: int, seed: int = 0) -> NDArray[np.uint8]:
    """Grey images of bright spots on black, uint8 (n, side, side); about half of them is black."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(-255, 256, (n_images, -(-side // _SPOT), -(-side // _SPOT)))
    spots = coarse.repeat(_SPOT, axis=1).repeat(_SPOT, axis=2)[:, :side, :side]
    noise = rng.integers(-30, 31, spots.shape)
    return np.where(spots > 0, np.clip(spots + noise, 0, 255), 0).astype(np.uint8)


def bank_section(
    n_images: int,
    side: int,
    n_jobs: Sequence[int],
    progress: Progress | None = None,
    families: Sequence[Family] | None = None,
) -> Section:
    """Build the default families' bank of made images, with several numbers of threads.

    The bank on disk is built and opened in a temporary folder that is removed again.
    """
    images = made_images(n_images, side)
    chosen = families_for(images.shape[1:]) if families is None else list(families)
    n_features = sum(family.n_features for family in chosen)
    FeatureBank.build(chosen, images[:64])  # compiles
    seconds = []
    for number, jobs in enumerate(n_jobs):
        if progress is not None:
            progress("bank", number, len(n_jobs) + 1)
        seconds.append(
            (
                f"in memory, {_threads(jobs)}",
                seconds_of(lambda j=jobs: FeatureBank.build(chosen, images, n_jobs=j)),  # type: ignore[misc]  # defaults bind
            )
        )
    if progress is not None:
        progress("bank", len(n_jobs), len(n_jobs) + 1)
    jobs = max(n_jobs)
    with _empty_cache():
        for name in (f"on disk, {_threads(jobs)}", _OPENED):
            seconds.append((name, seconds_of(lambda: cached_bank(chosen, images, n_jobs=jobs))))
    table = Table(
        f"a bank of {n_features:,} features of {n_images:,} images, {side} x {side}: seconds, "
        "features and million values a second",
        ("", "seconds", "features", "values"),
        tuple(
            (
                name,
                f"{took:.2f}",
                *(
                    (f"{n_features / took:,.0f}", f"{1e-6 * n_features * n_images / took:,.1f}")
                    if name != _OPENED
                    else ("", "")
                ),
            )
            for name, took in seconds
        ),
    )
    numbers = {
        "features": n_features,
        "images": n_images,
        "side": side,
        "seconds": dict(seconds),
    }
    return Section((table,), {"bank": numbers})


def _threads(n_jobs: int) -> str:
    return "one thread" if n_jobs == 1 else f"{n_jobs} threads"


@contextmanager
def _empty_cache() -> Iterator[None]:
    """A cache folder of one's own for a while, of which no messages tell."""
    name = "BOOSTSAMPLE_CACHE_DIR"
    before = os.environ.get(name)
    log = logging.getLogger(cached_bank.__module__)
    level = log.level
    with tempfile.TemporaryDirectory(prefix="boostsample-bench-") as folder:
        os.environ[name] = folder
        log.setLevel(logging.WARNING)
        try:
            yield
        finally:
            log.setLevel(level)
            del os.environ[name]
            if before is not None:
                os.environ[name] = before
