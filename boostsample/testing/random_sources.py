"""Where the random numbers of a strategy come from: `step.rng`, or generators that it makes."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from boostsample.step import Step

__all__ = ["RandomSources", "global_state", "watch_random_sources"]


def global_state() -> tuple[Any, ...]:
    """The global random states of `random` and numpy, to compare."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - the state under test
    return random.getstate(), state["state"]["key"].tobytes(), state["state"]["pos"]


@dataclass
class RandomSources:
    """Names of the generators that a strategy made, and whether it read the given one."""

    made: set[str] = field(default_factory=set)
    read: bool = False


@contextmanager
def watch_random_sources(kind: type[Any]) -> Iterator[RandomSources]:
    """Record the random sources of a class of strategies while the context is open.

    Generators count if a method of the strategy makes them, under the names in numpy, `random` and
    the modules of the class.
    """
    found = RandomSources()
    inside = False

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **settings: Any) -> Any:
            nonlocal inside
            rng = next((a for a in args if isinstance(a, np.random.Generator)), None)  # of start()
            before, inside = _state(rng), True
            try:
                return method(*args, **settings)
            finally:
                inside = False
                found.read |= _state(rng) != before

        return call

    def note(name: str) -> None:
        if inside:
            found.made.add(name)

    def default_rng(seed: Any = None) -> np.random.Generator:
        note("default_rng")
        return original_rng(seed)

    class RandomState(np.random.RandomState):
        def __init__(self, seed: Any = None) -> None:
            note("RandomState")
            super().__init__(seed)

    class Random(random.Random):
        def __init__(self, x: Any = None) -> None:
            note("Random")
            super().__init__(x)

    def step_rng(step: Step) -> Any:
        found.read |= inside
        return original_step_rng(step)

    original_rng, original_step_rng = np.random.default_rng, vars(Step)["rng"].fget
    makers: list[tuple[Any, Any]] = [
        (np.random.default_rng, default_rng),
        (np.random.RandomState, RandomState),
        (random.Random, Random),
    ]
    modules = {sys.modules[one.__module__] for one in kind.__mro__ if one.__module__ in sys.modules}
    with ExitStack() as stack:
        for module in {np.random, random, *modules}:
            for name, value in [*vars(module).items()]:
                for maker, replacement in makers:
                    if value is maker:
                        stack.enter_context(patch.object(module, name, replacement))
        for name in ("start", "choose", "learn"):
            stack.enter_context(patch.object(kind, name, watched(getattr(kind, name))))
        stack.enter_context(patch.object(Step, "rng", property(step_rng)))
        yield found


def _state(rng: np.random.Generator | None) -> Any:
    """The position of a generator, and how many streams it has spawned."""
    if rng is None:
        return None
    bits: Any = rng.bit_generator
    return bits.state, bits.seed_seq.n_children_spawned
