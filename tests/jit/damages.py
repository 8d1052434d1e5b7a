"""Damages files of compiled kernels at random, and trains with them.

    python -m tests.jit.damages --times 2000

fills a cache by a training run, then damages files of it and trains again in a new process, until
that number of damaged files has been read. Each run must end well, to the bits of the first one; it
must load every file that is whole, and compile every other and overwrite it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.damages import CONTENTS, payload
from tests.paths import run_python

#: Damages to names rather than contents; all others are in `CONTENTS`.
DAMAGES = (
    *CONTENTS,
    "payload",
    "swap",
    "folder",
    "dangling link",
    "circular link",
    "link to another file",
    "pipe",
    "removed",
)


def content_of(path: Path) -> bytes | None:
    """The content of a regular file."""
    return path.read_bytes() if path.is_file() else None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _damage(path: Path, other: Path, kind: str, rng: np.random.Generator, marker: Path) -> None:
    content, other_content = content_of(path) or b"", content_of(other) or b""
    if kind == "swap":
        aside = path.with_suffix(".aside")
        path.rename(aside)
        if other != path:
            other.rename(path)
        aside.rename(other)
        return
    _remove(path)
    if kind in CONTENTS:
        path.write_bytes(CONTENTS[kind](content, other_content, rng))
    elif kind == "payload":
        path.write_bytes(payload(marker))
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "removed":
        targets = {"dangling link": "nothing", "circular link": path.name}
        path.symlink_to(targets.get(kind, str(other)))


def damage_files(
    paths: Sequence[Path],
    others: Sequence[Path],
    rng: np.random.Generator,
    marker: Path,
    kinds: Sequence[str] = DAMAGES,
) -> None:
    """Damage each file of `paths`; some damages involve a file of `others`.

    Whoever unpickles a payload creates the file `marker`.
    """
    for path in paths:
        if path.exists() or path.is_symlink():  # not removed by a swap
            other = others[int(rng.integers(len(others)))]
            other = other if other.is_file() else path
            _damage(path, other, kinds[int(rng.integers(len(kinds)))], rng, marker)


# ------------------------------------------------------------------------------------ trained runs


def _small_kernels() -> bytes:
    """Draws examples and fits Gaussians: a few kernels that compile in a second."""
    from boostsample.kernels.draw import DRAW_BLOCK, cumulate_for_draw
    from boostsample.kernels.mixture_em import fit_single_rows

    rng = np.random.default_rng(0)
    rows, weights = rng.random((5, 9)), rng.random(99).astype(np.float32)
    models, fits, sums = np.empty((5, 3, 1)), np.empty((5, 2)), np.empty(-(-99 // DRAW_BLOCK))
    fit_single_rows(rows, 1e-9, 1e-6, 20, np.empty(9), models, fits)
    cumulate_for_draw(weights, sums)
    return models.tobytes() + fits.tobytes() + sums.tobytes()


def _boosting() -> bytes:
    """Trains with strategies that search, draw, and fit models of families."""
    from boostsample.banks.bank_forms import make_bank
    from boostsample.loop.booster import Booster
    from boostsample.registry import default_families
    from boostsample.strategies import Laminating, UniformNaive

    rng = np.random.default_rng(0)
    X = rng.integers(0, 17, (300, 8)).astype(np.float32)
    labels = np.where(X[:, :2].argmax(axis=1)[:, None] == np.arange(2), 1, -1).astype(np.int8)
    bank = make_bank("memory", default_families(X.shape[1:]), X)
    numbers: list[Any] = []
    for strategy in (UniformNaive(), Laminating()):
        booster = Booster(bank, None, labels, strategy, "stump", n_rounds=8, rng=0, n_jobs=1)
        for _ in range(8):
            for term in booster.next_round().terms:
                numbers += [term.feature, term.threshold, term.alpha, *term.votes]
    return np.array(numbers, float).tobytes()


WORK = {"small": _small_kernels, "boosting": _boosting}


def run_in_this_process(work: str) -> None:
    """Print a digest of the results, the cache files that were loaded, and those that were not."""
    from boostsample.jit import compile_kernels

    load, names = compile_kernels._Files.load, {True: list[str](), False: list[str]()}

    def counted(files: Any, key: Any) -> Any:
        data = load(files, key)
        names[data is not None].append(str(files.path(key)))
        return data

    compile_kernels._Files.load = counted  # type: ignore[assignment,method-assign]  # watched
    digest = hashlib.sha256(WORK[work]()).hexdigest()
    sys.stdout.write(json.dumps([digest, names[True], names[False]]) + "\n")


def _run(work: str, folder: Path) -> tuple[str, set[Path], set[Path]]:
    code = f"from tests.jit.damages import run_in_this_process as run; run({work!r})"
    done = run_python("-c", code, NUMBA_CACHE_DIR=str(folder))
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-2000:]}"
    digest, loaded, missed = json.loads(done.stdout)
    return digest, set(map(Path, loaded)), set(map(Path, missed))


def run_damaged(
    times: int,
    work: str,
    rng: np.random.Generator,
    say: Callable[[str], object] = lambda text: None,
) -> tuple[int, int]:
    """Run with damaged files until so many were read; their number, and that of the runs."""
    n_files = n_runs = 0
    with tempfile.TemporaryDirectory() as name:
        folder, marker = Path(name, "cache"), Path(name, "unpickled")
        result, _, paths = _run(work, folder)
        assert paths == set(folder.rglob("*.nbc")), "the first run stores what it compiles"
        whole = {path: path.read_bytes() for path in sorted(paths)}
        while n_files < times:
            most = min(len(whole), max(times - n_files, 1))
            order = [list(whole)[number] for number in rng.permutation(len(whole))]
            n_chosen = int(rng.integers((most + 1) // 2, most + 1))
            damage_files(order[:n_chosen], order, rng, marker)
            damaged = {path for path in whole if content_of(path) != whole[path]}
            digest, loaded, missed = _run(work, folder)
            assert digest == result, "the result is another one"
            assert not marker.exists(), "a payload was unpickled"
            assert missed <= damaged, f"whole files that were not loaded: {missed - damaged}"
            assert not loaded & damaged, f"damaged files that were loaded: {loaded & damaged}"
            for path in missed:
                if path.is_dir():  # nothing can take its place
                    path.rmdir()
                else:
                    assert content_of(path), f"{path} was not overwritten"
                    whole[path] = path.read_bytes()
            n_files, n_runs = n_files + len(missed), n_runs + 1
            say(f"{n_files} damaged files in {n_runs} runs")
        left = {path for path in folder.rglob("*") if not path.is_dir()} - set(whole)
        assert left == set(), f"files that were left behind: {left}"
        for path, content in whole.items():
            if content_of(path) != content:  # a kernel that only kernels call, which were whole
                _remove(path)
                path.write_bytes(content)
        digest, _, missed = _run(work, folder)
        assert digest == result
        assert missed == set(), f"whole files that were not loaded: {missed}"
    return n_files, n_runs


def main() -> int:
    """Run it, with a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2000, help="damaged files to be read")
    parser.add_argument("--work", choices=sorted(WORK), default="boosting")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    run_damaged(settings.times, settings.work, np.random.default_rng(settings.seed), say)
    say("every run ended well, with the same results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
