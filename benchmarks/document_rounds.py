"""Rounds per second and memory of stumps on made documents, for docs/documents.md.

    python -m benchmarks.document_rounds BANK

for a form of the bank, such as "columns", "memory" or "columns:cache_bytes=536870912". The 10,000
documents have 100 words each, of 20,000 terms whose frequencies follow Zipf's law, and 20 labels; a
twentieth of the words are those of a label.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import click
import numpy as np
from scipy import sparse

from boostsample import Booster
from boostsample.banks.bank_forms import make_bank
from boostsample.registry import default_families

N_DOCUMENTS, N_WORDS, N_TERMS, N_LABELS, N_OWN = 10_000, 100, 20_000, 20, 20
OBJECTIVES = ("real-mh:abstains=1", "real-mh", "mh")
N_ROUNDS, SECONDS = 100, 15.0
"""Rounds of a measurement at most, and the seconds after which it ends."""


def documents(rng: np.random.Generator) -> tuple[Any, Any]:
    """Terms, a matrix of 0 and 1 in CSC format, and labels -1 and +1 (n, K)."""
    frequency = 1.0 / np.arange(1, N_TERMS + 1)
    size = N_DOCUMENTS * N_WORDS
    row = np.repeat(np.arange(N_DOCUMENTS), N_WORDS)
    term = rng.choice(N_TERMS, size, p=frequency / frequency.sum())
    label = rng.integers(0, N_LABELS, N_DOCUMENTS)
    of_labels = rng.permutation(np.arange(200, 5000))[: N_LABELS * N_OWN].reshape(N_LABELS, N_OWN)
    own = rng.random(size) < 0.05
    term[own] = of_labels[label[row[own]], rng.integers(0, N_OWN, own.sum())]
    X = sparse.csc_array((np.ones(size, np.float32), (row, term)), (N_DOCUMENTS, N_TERMS))
    X.data[:] = 1
    Y = np.full((N_DOCUMENTS, N_LABELS), -1, np.int8)
    Y[np.arange(N_DOCUMENTS), label] = 1
    second = rng.random(N_DOCUMENTS) < 0.2
    Y[second, (label[second] + 1) % N_LABELS] = 1
    return X, Y


def memory() -> float:
    """Most memory of the process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@click.command()
@click.argument("form", default="columns")
def main(form: str) -> None:
    """Print the table."""
    X, Y = documents(np.random.default_rng(0))
    before = memory()
    bank = make_bank(form, default_families((N_TERMS,)), X, None, n_jobs=1)
    click.echo(f"{X.nnz / N_DOCUMENTS:.0f} different terms in a document")
    for strategy in ("full", "uniform-naive", "laminating"):
        for objective in OBJECTIVES:
            booster = Booster(
                bank,
                None,
                Y,
                strategy,
                objective=objective,
                n_rounds=N_ROUNDS + 1,
                weight_init="uniform",
                rng=0,
            )
            booster.next_round()
            begin, n = time.perf_counter(), 0
            while n < N_ROUNDS and time.perf_counter() - begin < SECONDS:
                booster.next_round()
                n += 1
            rate = n / (time.perf_counter() - begin)
            click.echo(f"{strategy} {objective}: {rate:.3g} rounds/s")
    click.echo(f"{memory() - before:.0f} MB more than the documents")


if __name__ == "__main__":
    main()
