"""Runs with checkpoints, for their tests: what a run is, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boostsample.banks.bank import Bank
from boostsample.files.json_text import pack_state
from boostsample.loop.booster import Booster
from boostsample.loop.checkpoint import Checkpoint
from boostsample.loop.run_file import read_checkpoint
from boostsample.records import Round
from tests.problems import bank_of, noisy_labels, table

LEARNERS = ("stump", "product:n_terms=2", "tree:n_leaves=4")
PLANNED = 7


def new_booster(
    strategy: Any = "ucb", learner: Any = "stump", bank: Bank | None = None, **settings: Any
) -> Booster:
    """A booster with a bank of its own, as another process has it."""
    n_labels, Y = settings.pop("n_labels", 3), settings.pop("Y", None)
    bank = bank_of(table(), groups=2) if bank is None else bank
    arguments: dict[str, Any] = {"n_rounds": PLANNED, "rng": 0, **settings}
    labels = noisy_labels(n_labels=n_labels) if Y is None else Y
    return Booster(bank, arguments.pop("rows", None), labels, strategy, learner, **arguments)


def bits(rounds: Sequence[Round]) -> list[str]:
    """Terms, and history without seconds: texts that hold each bit."""
    texts = []
    for done in rounds:
        texts.append(repr([{**row, "seconds": 0.0} for row in done.rows]))
        texts.append(float(done.edge).hex())
        for term in done.terms:
            votes = [None if side is None else side.tolist() for side in (term.votes, term.below)]
            cut = term.feature, term.threshold, float(term.value).hex(), float(term.alpha).hex()
            texts.append(repr((*cut, votes, term.search, term.parent, term.side)))
    return texts


def bits_of(rounds: Sequence[Round], booster: Booster) -> list[str]:
    """The bits of the rounds, and of the state after them."""
    return [pack_state(booster.small_state()), str(booster.finished), *bits(rounds)]


def straight(booster: Booster) -> list[str]:
    """The bits of a run without interruption."""
    rounds = []
    while not booster.finished:
        rounds.append(booster.next_round())
    return bits_of(rounds, booster)


def until(path: Path, booster: Booster, n_rounds: int) -> None:
    """Train so many rounds, save, and forget all but the file."""
    with Checkpoint(path, booster) as checkpoint:
        for _ in range(n_rounds):
            checkpoint.next_round()


def finished(path: Path, booster: Booster) -> list[str]:
    """Go on from a file to the end; the bits of the whole run."""
    with Checkpoint(path, booster) as checkpoint:
        while not booster.finished:
            checkpoint.next_round()
    return bits_of(checkpoint.rounds, booster)


def rounds_in(path: Path) -> int:
    """Rounds in a file, 0 without one."""
    saved = read_checkpoint(path)
    return 0 if saved is None else len(saved.rounds)
