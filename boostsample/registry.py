"""Strategies, families, learners and objectives by name: the only place that loads them.

Names map to "module:class", so that listing them imports nothing. Other distributions register
theirs by the entry-point groups `boostsample.strategies`, `boostsample.families`,
`boostsample.learners` and `boostsample.objectives`. A name that two distributions register is
refused. A class in a Python file needs no registration: its name is ``folder/my_file.py:Mine``.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from boostsample.errors import SettingError, one_line, os_fault, unknown
from boostsample.names import is_in_file, parse_name, refuse_alternatives

#: The strategies of this distribution.
STRATEGIES = {
    "full": "boostsample.strategies.full:Full",
    "uniform-naive": "boostsample.strategies.uniform_naive:UniformNaive",
    "uniform-1q": "boostsample.strategies.uniform_1q:Uniform1Q",
    "uniform-q1": "boostsample.strategies.uniform_q1:UniformQ1",
    "filterboost": "boostsample.strategies.filterboost:FilterBoost",
    "ucb": "boostsample.strategies.bandits.ucb:UCB",
    "ucbv": "boostsample.strategies.bandits.ucbv:UCBV",
    "exp3p": "boostsample.strategies.bandits.exp3p:Exp3P",
    "epsilon-greedy": "boostsample.strategies.bandits.epsilon_greedy:EpsilonGreedy",
    "explore-then-commit": "boostsample.strategies.bandits.explore_then_commit:ExploreThenCommit",
    "hedge": "boostsample.strategies.hedge:Hedge",
    "mas-naive": "boostsample.strategies.mas.mas_naive:MASNaive",
    "mas-1q": "boostsample.strategies.mas.mas_1q:MAS1Q",
    "mas-q1": "boostsample.strategies.mas.mas_q1:MASQ1",
    "tasting-1q": "boostsample.strategies.tasting.tasting_1q:Tasting1Q",
    "tasting-q1": "boostsample.strategies.tasting.tasting_q1:TastingQ1",
    "laminating": "boostsample.strategies.laminating:Laminating",
    "successive-halving": "boostsample.strategies.successive_halving:SuccessiveHalving",
    "adaptive-halving": "boostsample.strategies.adaptive_halving:AdaptiveHalving",
    "cost-aware": "boostsample.strategies.cost_aware:CostAware",
    "screening": "boostsample.strategies.screening:Screening",
    "quickboost": "boostsample.strategies.modern.quickboost:QuickBoost",
    "adaptive-pruning": "boostsample.strategies.modern.adaptive_pruning:AdaptivePruning",
    "mabsplit": "boostsample.strategies.modern.mabsplit:MABSplit",
    "median-elimination": "boostsample.strategies.modern.median_elimination:MedianElimination",
    "sparrow": "boostsample.strategies.modern.sparrow:Sparrow",
    "mp-boost": "boostsample.strategies.modern.mp_boost:MPBoost",
    "ema-fs": "boostsample.strategies.modern.ema_fs:EMAFS",
    "box-thirding": "boostsample.strategies.modern.box_thirding:BoxThirding",
    "label-sampling": "boostsample.strategies.modern.label_sampling:LabelSampling",
    "weight-trimming": "boostsample.strategies.modern.weight_trimming:WeightTrimming",
}

#: The feature families of this distribution.
FAMILIES = {
    "columns": "boostsample.families.columns:Columns",
    "identity": "boostsample.families.images.identity:Identity",
    "gradient": "boostsample.families.images.gradient:Gradient",
    "fourier": "boostsample.families.images.fourier:Fourier",
    "haar": "boostsample.families.images.haar:Haar",
    "lbp": "boostsample.families.images.lbp:LBP",
    "ilbp": "boostsample.families.images.lbp:ILBP",
    "patches": "boostsample.families.images.patches:PatchSums",
    "gradient-histograms": "boostsample.families.images.gradient_histograms:GradientHistograms",
    "hog": "boostsample.families.images.gradient_histograms:OrientedGradients",
    "haar-like": "boostsample.families.images.haar_like:HaarLike",
    "opponent": "boostsample.families.images.opponent:Opponent",
    "text": "boostsample.families.text:Text",
    "hashed-text": "boostsample.families.text:HashedText",
}

#: The learners of this distribution.
LEARNERS = {
    "stump": "boostsample.learners.stump:StumpLearner",
    "product": "boostsample.learners.product:Product",
    "tree": "boostsample.learners.tree:Tree",
    "oblivious-tree": "boostsample.learners.oblivious_tree:ObliviousTree",
}

#: The objectives of this distribution.
OBJECTIVES = {
    "mh": "boostsample.objective:AdaBoostMH",
    "real-mh": "boostsample.objectives.real:RealMH",
    "info": "boostsample.objectives.real:InfoBoost",
    "gentle": "boostsample.objectives.real:GentleBoost",
    "m1": "boostsample.objectives.classes:AdaBoostM1",
    "samme": "boostsample.objectives.classes:SAMME",
    "rank": "boostsample.objectives.ensembles:RankBoost",
    "bagging": "boostsample.objectives.ensembles:Bagging",
    "oc": "boostsample.objectives.coding:AdaBoostOC",
}


class _Kind(NamedTuple):
    group: str
    base: str
    places: Mapping[str, str]


_LOADING = threading.Lock()
local_classes: dict[str, type[Any]] = {}
"""Classes of strategies of this process that `name_of_class` has named after themselves."""
_KINDS = {
    "strategy": _Kind("boostsample.strategies", "boostsample.strategy:Strategy", STRATEGIES),
    "family": _Kind("boostsample.families", "boostsample.family:Family", FAMILIES),
    "learner": _Kind("boostsample.learners", "boostsample.learner:Learner", LEARNERS),
    "objective": _Kind("boostsample.objectives", "boostsample.objective:Objective", OBJECTIVES),
}


class Foreign(NamedTuple):
    """A class that another distribution registers: its name, "module:class" and distribution."""

    name: str
    place: str
    distribution: str


def foreign_entries(kind: str) -> list[Foreign]:
    """Classes of other distributions, by name; `kind` is a key of `_KINDS`, as "strategy"."""
    return entries_of_group(_KINDS[kind].group)


def entries_of_group(group: str) -> list[Foreign]:
    """What other distributions register in an entry-point group, by name."""
    return list(_entries(entry_points, group, tuple(sys.path)))


def registered_function(kind: str, group: str, name: str) -> Callable[..., Any] | None:
    """The function that another distribution registers under a name; None if there is none.

    SettingError if it cannot be loaded, or if two distributions register the name.
    """
    found = [entry for entry in entries_of_group(group) if entry.name == name]
    if len(found) > 1:
        owners = " and ".join(entry.distribution for entry in found)
        raise SettingError(
            f"the name of the {kind} {name!r} is registered by {owners}; uninstall one of them"
        )
    function: Callable[..., Any] | None = _loaded(kind, found[0]) if found else None
    return function


def _loaded(kind: str, entry: Foreign) -> Any:
    """What an entry names; SettingError if it cannot be loaded."""
    try:
        return _load(entry.place)
    except Exception as error:  # a foreign module may raise anything
        raise SettingError(
            f"{kind} {entry.name!r} of {entry.distribution} cannot be loaded from "
            f"{entry.place!r} ({type(error).__name__}: {error}); repair or uninstall "
            f"{entry.distribution}"
        ) from error


@cache
def _entries(read: Callable[..., Any], group: str, path: tuple[str, ...]) -> tuple[Foreign, ...]:
    """The entries of a group, read once for each `sys.path`: that takes about 20 ms."""
    return tuple(
        sorted(
            Foreign(point.name, point.value, point.dist.name if point.dist else "(unnamed)")
            for point in read(group=group)
        )
    )


def registered_names(kind: str) -> tuple[str, ...]:
    """All registered names of a kind, those of boostsample first."""
    places = _KINDS[kind].places
    return (*places, *sorted({entry.name for entry in foreign_entries(kind)} - places.keys()))


def check_unshared(kind: str, name: str, owner: str) -> None:
    """SettingError if a distribution registers a name that `owner` already has."""
    for entry in foreign_entries(kind):
        if entry.name == name and entry.distribution != owner:
            raise SettingError(
                f"the name of the {kind} {name!r} is taken by {owner}, but {entry.distribution} "
                f"registers {entry.place} under it; rename its entry point, or uninstall "
                f"{entry.distribution}"
            )


def registered_class(kind: str, name: str) -> type[Any]:
    """The class of a registered name; SettingError if it is unknown, or cannot be loaded."""
    group, base, places = _KINDS[kind]
    others = [entry for entry in foreign_entries(kind) if entry.name == name]
    if name in places:
        entry = Foreign(name, places[name], "boostsample")
    elif others:
        entry = others[0]
    else:
        raise unknown(kind, name, registered_names(kind))
    check_unshared(kind, name, entry.distribution)
    cls = _loaded(kind, entry)
    base_class = _load(base)
    if not (inspect.isclass(cls) and issubclass(cls, base_class)):
        raise SettingError(
            f"{kind} {name!r} of {entry.distribution} must be a subclass of "
            f"boostsample.{base_class.__name__}, got {entry.place!r}; correct its entry point in "
            f"the group {group}"
        )
    return cls


def named_class(kind: str, name: str) -> type[Any]:
    """The class of a registered name, or of a Python file, as in ``my_file.py:Mine``.

    SettingError as of `registered_class`, or if the file cannot be imported, which runs it.
    """
    if not is_in_file(name):
        known = local_classes.get(name) if kind == "strategy" else None
        return registered_class(kind, name) if known is None else known
    found = object_in_file(kind, name)
    base_class = _load(_KINDS[kind].base)
    if not (inspect.isclass(found) and issubclass(found, base_class)):
        raise SettingError(
            f"{kind} {name!r} must be a subclass of boostsample.{base_class.__name__}, got "
            f"{one_line(Exception(repr(found)))}; name another class of the file"
        )
    return found


def object_in_file(kind: str, name: str) -> Any:
    """The object that ``path.py:name`` names, from a module that is imported from the file.

    The file is read anew at each call, and imported if its content is new: a class and its code
    belong together. It may import what is installed, but not the files beside it, whose changes
    `boostsample.hashing.code_of` would not notice. SettingError, with the line, if that fails.
    """
    path, _, attribute = name.rpartition(":")
    place = Path(path).expanduser().resolve()
    try:
        content = place.read_bytes()
    except OSError as error:
        raise SettingError(
            f"the file of the {kind} {name!r} cannot be read: {os_fault(error)}; give its path, as "
            f"in folder/my_file.py:{attribute}"
        ) from None
    try:
        with _LOADING:
            module = _module_of(place, content)
    except Exception as error:  # a file of the user may raise anything
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
        for frame in traceback.extract_tb(error.__traceback__):
            line = frame.lineno if frame.filename == str(place) else line
        raise SettingError(
            f"the file of the {kind} {name!r} cannot be imported: line {line}: "
            f"{type(error).__name__}: {one_line(error)}; correct the file"
        ) from error
    if not hasattr(module, attribute):
        public = [key for key, value in vars(module).items() if _is_of(value, module)]
        raise unknown(f"{kind} in {path}", attribute, public)
    return getattr(module, attribute)


def _module_of(place: Path, content: bytes) -> ModuleType:
    """The module of a file with this content; its name does not depend on the folder."""
    from boostsample.hashing import SOURCE, sha256_of_bytes  # NumPy: lists of names do without

    stem = re.sub(r"\W", "_", place.stem)
    module_name = f"{stem}_{sha256_of_bytes(content)[:8]}"
    if module_name not in sys.modules:
        module = ModuleType(module_name)
        module.__file__ = str(place)
        setattr(module, SOURCE, content)
        sys.modules[module_name] = module  # where `inspect` and dataclasses look for it
        try:
            exec(compile(content, str(place), "exec"), module.__dict__)
        except BaseException:
            del sys.modules[module_name]
            raise
    return sys.modules[module_name]


def _is_of(value: Any, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module.__name__


def name_of_class(cls: type[Any]) -> str:
    """A name under which `make_strategy` finds a class of strategies in this process.

    It is that of the registry, else that of the class, also of a later class of this name.
    """
    name = registered_name("strategy", cls)
    if name is None:
        name = cls.__name__
        local_classes[name] = cls
    return name


def registered_name(kind: str, cls: type[Any]) -> str | None:
    """The registered name of a class, or None; entry points that cannot be loaded do not count."""
    place = f"{cls.__module__}:{cls.__qualname__}"
    for name, registered in _KINDS[kind].places.items():
        if registered == place:
            return name
    for entry in foreign_entries(kind):
        try:
            if registered_class(kind, entry.name) is cls:
                return entry.name
        except SettingError:  # of a class that is not asked for
            continue
    return None


def describe_foreign(kind: str, entry: Foreign) -> str:
    """The first sentence of a foreign class, or of its module; or why it cannot be used."""
    try:
        check_unshared(kind, entry.name, entry.distribution)
        cls = registered_class(kind, entry.name)
    except SettingError as error:
        return f"broken: {error}"
    text = inspect.cleandoc(cls.__doc__ or sys.modules[cls.__module__].__doc__ or "")
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")


def make_registered(kind: str, name: str, /, **settings: Any) -> Any:
    """An instance from ``name`` or ``name:setting=value`` and further settings.

    >>> make_registered("strategy", "ucb:exploration=0.1")
    UCB(exploration=0.1)
    """
    name, parsed = parse_name(name)
    cls = named_class(kind, name)
    settings = parsed | settings
    refuse_alternatives(
        name, settings, "which only boostsample compare --tune tries; give one value"
    )
    parameters = inspect.signature(cls).parameters
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        for setting in settings:
            if setting not in parameters:
                if not parameters:
                    raise SettingError(f"{kind} {name!r} has no settings, got {setting!r}")
                raise unknown(f"setting of {name}", setting, sorted(parameters))
    try:
        return cls(**settings)
    except SettingError:
        raise
    except (TypeError, ValueError) as error:
        raise SettingError(f"{kind} {name!r} refuses its settings: {error}") from error


def strategy_names() -> tuple[str, ...]:
    """Names of all installed strategies, those of boostsample first."""
    return registered_names("strategy")


def make_strategy(name: str, /, **settings: Any) -> Any:
    """A strategy from its name and settings; SettingError lists the known ones.

    >>> make_strategy("uniform-naive", n_features=20)
    UniformNaive(n_features=20)
    """
    return make_registered("strategy", name, **settings)


def make_learner(learner: Any) -> Any:
    """A `Learner` itself, or that of a name with settings; None is a stump. SettingError else."""
    return _instance_of("learner", "stump" if learner is None else learner)


def make_objective(objective: Any) -> Any:
    """An `Objective` itself, or that of a name with settings; None is "mh". SettingError else."""
    return _instance_of("objective", "mh" if objective is None else objective)


def _instance_of(kind: str, named: Any) -> Any:
    base = _load(_KINDS[kind].base)
    if isinstance(named, base):
        return named
    if not isinstance(named, str):
        raise SettingError(
            f"{kind} must be a name or an instance of {base.__name__}, got {named!r}; "
            f"pass an instance, as in My{base.__name__}()"
        )
    return make_registered(kind, named)


def families_by_name(wanted: Any, example_shape: tuple[int, ...], **settings: Any) -> list[Any]:
    """Families by name for examples of the given shape, see `boostsample.families`."""
    by_name = _load("boostsample.families.default_sets:families_by_name")
    return list(by_name(wanted, example_shape, **settings))


def default_families(example_shape: tuple[int, ...], **settings: Any) -> list[Any]:
    """Default families for examples of the given shape."""
    return list(_load("boostsample.families.default_sets:families_for")(example_shape, **settings))


def column_families(groups: Any, table: Any, **settings: Any) -> list[Any]:
    """Families of columns, one for each group that the user names."""
    return list(_load("boostsample.families.columns:column_groups")(groups, table, **settings))


def _load(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)
