"""State outside of a strategy: random generators, class attributes, globals, hash seeds."""

from __future__ import annotations

import importlib
import os
import pickle
import random
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from boostsample.step import Step

#: Values of PYTHONHASHSEED under which sets of texts have other orders.
HASH_SEEDS = ("1", "2")
_IN_CHILD = "from boostsample.testing.isolation import _answer; _answer()"
_ABSENT = object()


class _Value(NamedTuple):
    """A value, and its bytes if it can change in place."""

    value: Any
    content: bytes | None

    def differs(self, other: _Value) -> bool:
        return self.content != other.content or (
            self.content is None and self.value is not other.value
        )


def changed_by(run: Callable[[], Any], kind: type[Any], base: type[Any]) -> list[str]:
    """The class attributes, and the globals that its module reads, which a run changes.

    Of `kind` and its bases below `base`. Functions, classes and modules count as changed only if
    they are replaced: a function may keep a cache.
    """
    before = _shared(kind, base)
    run()
    after = _shared(kind, base)
    absent = _Value(_ABSENT, None)
    names = dict.fromkeys([*before, *after])
    return [n for n in names if before.get(n, absent).differs(after.get(n, absent))]


def _shared(kind: type[Any], base: type[Any]) -> dict[str, _Value]:
    values: dict[str, _Value] = {}
    for cls in kind.__mro__:
        if cls is base:
            break
        for name, value in vars(cls).items():
            if not name.startswith("__"):
                values[f"the class attribute {cls.__name__}.{name}"] = _value(value)
        module = sys.modules.get(cls.__module__)
        for name in _globals_read(cls, module):
            if name in vars(module) and not name.startswith("__"):
                value = vars(module)[name]
                values[f"the global {name} of the module {cls.__module__}"] = _value(value)
    return values


def _globals_read(cls: type[Any], module: ModuleType | None) -> list[str]:
    """Names in the code of a class and of the functions of its module: a notebook has others."""
    if module is None:
        return []
    things = [*vars(cls).values(), *vars(module).values()]
    names: dict[str, None] = {}
    todo = [
        thing.__code__
        for thing in (getattr(thing, "__func__", thing) for thing in things)
        if isinstance(thing, FunctionType) and thing.__module__ == cls.__module__
    ]
    while todo:
        code = todo.pop()
        names |= dict.fromkeys(code.co_names)
        todo += [part for part in code.co_consts if isinstance(part, CodeType)]
    return list(names)


def _value(value: Any) -> _Value:
    if callable(value) or isinstance(value, ModuleType | property | staticmethod | classmethod):
        return _Value(value, None)
    try:
        return _Value(value, pickle.dumps(value))
    except Exception:  # pickle raises many types; such a value is compared by identity
        return _Value(value, None)


def global_random_state() -> tuple[Any, ...]:
    """State of the global generators of numpy and `random`."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - the state under test
    return random.getstate(), state["state"]["key"].tobytes(), state["state"]["pos"]


@dataclass
class RandomSources:
    """Names of the generators that a strategy made, and whether it read the given one."""

    made: set[str] = field(default_factory=set)
    read: bool = False


@contextmanager
def watched_sources(kind: type[Any]) -> Iterator[RandomSources]:
    """Record which generators methods of a class of strategies make or read."""
    sources = RandomSources()
    inside = False

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **settings: Any) -> Any:
            nonlocal inside
            rng = next((a for a in args if isinstance(a, np.random.Generator)), None)  # of start()
            before, inside = _position(rng), True
            try:
                return method(*args, **settings)
            finally:
                inside = False
                sources.read |= _position(rng) != before

        return call

    def watched_maker(maker: Any) -> Any:
        """The same maker of generators, which notes its name if a method calls it."""

        def note() -> None:
            if inside:
                sources.made.add(maker.__name__)

        def make(*args: Any, **settings: Any) -> Any:
            note()
            return maker(*args, **settings)

        def init(self: Any, *args: Any, **settings: Any) -> None:
            note()
            maker.__init__(self, *args, **settings)

        is_class = isinstance(maker, type)
        return type(maker.__name__, (maker,), {"__init__": init}) if is_class else make

    def step_rng(step: Step) -> Any:
        sources.read |= inside
        return original_step_rng(step)

    original_step_rng = vars(Step)["rng"].fget
    makers = [
        (maker, watched_maker(maker))
        for maker in (np.random.default_rng, np.random.RandomState, random.Random)
    ]
    modules = [sys.modules.get(base.__module__, random) for base in kind.__mro__]
    with ExitStack() as stack:
        for module in {np.random, random, *modules}:
            for name, value in [*vars(module).items()]:
                for maker, replacement in makers:
                    if value is maker:
                        stack.enter_context(patch.object(module, name, replacement))
        for name in ("start", "choose", "learn"):
            stack.enter_context(patch.object(kind, name, watched(getattr(kind, name))))
        stack.enter_context(patch.object(Step, "rng", property(step_rng)))
        yield sources


def _position(rng: np.random.Generator | None) -> Any:
    if rng is None:
        return None
    bits: Any = rng.bit_generator
    return bits.state, bits.seed_seq.n_children_spawned


class FreshError(Exception):
    """What could not be done in a fresh interpreter, and why."""


def in_fresh_interpreters(
    function: Callable[..., Any], arguments: Sequence[Any], own: Sequence[str]
) -> list[Any]:
    """The results of a function in one fresh interpreter for each of `HASH_SEEDS`, at once.

    Arguments go by reference, or by value if the modules of names `own` cannot be imported there:
    those of a notebook, of `__main__`, or loaded from a file. Takes a few seconds. FreshError if
    the arguments cannot be sent, with the last line of the error in the other interpreter.
    """
    unknown = [name for name in own if getattr(sys.modules.get(name), "__spec__", None) is None]
    try:
        try:
            with _by_value(unknown):
                return _results(_cloudpickle().dumps((function, arguments)))
        except ImportError:
            with _by_value(own):
                return _results(_cloudpickle().dumps((function, arguments)))
    except Exception as error:  # pickle and foreign modules raise many types
        raise FreshError(f"{type(error).__name__}: {error}") from error


def _cloudpickle() -> Any:
    """A dependency of joblib, which contains it before version 1.6."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return importlib.import_module("joblib.externals.cloudpickle")


@contextmanager
def _by_value(names: Sequence[str]) -> Iterator[None]:
    modules = [sys.modules[name] for name in dict.fromkeys(names) if name in sys.modules]
    for module in modules:
        _cloudpickle().register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            _cloudpickle().unregister_pickle_by_value(module)


def _results(call: bytes) -> list[Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "call").write_bytes(pickle.dumps((sys.path, call)))
        children = []
        for seed in HASH_SEEDS:
            command = [sys.executable, "-c", _IN_CHILD, str(folder), seed]
            paths = os.pathsep.join([*filter(None, sys.path)])
            env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
            children.append(subprocess.Popen(command, env=env, stderr=subprocess.PIPE))
        errors = [child.communicate()[1].decode(errors="replace") for child in children]
        results = []
        for seed, error in zip(HASH_SEEDS, errors, strict=True):
            answer = folder / f"answer-{seed}"
            if not answer.exists():
                raise FreshError(error.strip().rpartition("\n")[2])
            result, failed = pickle.loads(answer.read_bytes())
            if failed:
                raise (ImportError if failed == "import" else FreshError)(result)
            results.append(result)
        return results


def _answer() -> None:
    """In the fresh interpreter: call the function, and write its result or why there is none."""
    folder, seed = Path(sys.argv[1]), sys.argv[2]
    sys.path[:], call = pickle.loads((folder / "call").read_bytes())
    failed = "import"
    try:
        function, arguments = pickle.loads(call)
        failed = "call"
        answer = function(*arguments), ""
    except Exception as error:
        traceback.print_exc()
        if not isinstance(error, ImportError | AttributeError):
            failed = "call"
        answer = f"{type(error).__name__}: {error}", failed
    (folder / f"answer-{seed}").write_bytes(pickle.dumps(answer))
