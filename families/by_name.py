"""Families by name: the default ones of a data set, and those that are registered."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from boostsample.errors import BoostSampleError, SettingError, unknown
from boostsample.families.default_sets import families_for
from boostsample.family import Family
from boostsample.names import parse_name, refuse_alternatives
from boostsample.registry import (
    FAMILIES,
    check_unshared,
    foreign_entries,
    registered_class,
    registered_names,
)


def families_by_name(
    wanted: Iterable[str | tuple[str, Mapping[str, Any]] | Family],
    example_shape: tuple[int, ...],
    *,
    seed: int = 0,
    column_names: Sequence[str] | None = None,
    data: str = "these examples",
    also: Sequence[str] = (),
) -> list[Family]:
    """Families for examples of the given shape.

    Names are those of `families_for`, then those of registered families: of this package and of
    other distributions (entry-point group `boostsample.families`). Arguments of a registered family
    that are called image_shape, n_columns, column_names and seed are filled in; the family of
    another distribution is called by its registered name if it has an argument `name`.

    Parameters
    ----------
    wanted : sequence of str, (str, dict) or Family
        Names as ``haar`` or ``haar:levels=2``, pairs of a name and settings, or families.
    example_shape : tuple of int
        ``X.shape[1:]``; () for documents.
    seed, column_names
        As in `families_for`.
    data : str
        Names the examples in messages.
    also : sequence of str
        Further words that the caller takes, for messages.

    Raises
    ------
    SettingError
        If a name or setting is unknown, or a family does not fit the examples.

    Examples
    --------
    >>> [family.name for family in families_by_name(["haar:levels=2", "identity"], (8, 8))]
    ['haar', 'identity']
    """
    usual: dict[str, Family] = {}
    if example_shape:
        defaults = families_for(example_shape, seed=seed, column_names=column_names)
        usual = {family.name: family for family in defaults}
    filled: dict[str, Any] = {"image_shape": example_shape, "seed": seed}
    if len(example_shape) == 1:
        filled |= {"n_columns": example_shape[0], "column_names": column_names}
    families = []
    for one in wanted:
        if isinstance(one, Family):
            families.append(one)
            continue
        name, settings = parse_name(one) if isinstance(one, str) else one
        refuse_alternatives(
            f"family {name!r}", settings, "which only strategies take; give one value"
        )
        if name in usual:
            check_unshared("family", name, "boostsample")
            families.append(_changed(usual[name], settings))
        elif name in registered_names("family"):
            families.append(_registered(name, settings, filled, data))
        else:
            foreign = [entry.name for entry in foreign_entries("family")]
            raise unknown(f"family of {data}", name, [*usual, *foreign, *also])
    return families


def _changed(family: Family, settings: Mapping[str, Any]) -> Family:
    """A family reconstructed with other settings."""
    if not settings:
        return family
    own = family.settings()
    for setting in settings:
        if setting not in own or isinstance(own[setting], list):
            known = [name for name, value in own.items() if not isinstance(value, list)]
            raise unknown(f"setting of family {family.name!r}", setting, known)
    try:
        return type(family)(**{**own, **settings})
    except BoostSampleError:
        raise
    except (TypeError, ValueError) as error:
        raise SettingError(f"family {family.name!r} refuses its settings: {error}") from error


def _registered(
    name: str, settings: Mapping[str, Any], filled: Mapping[str, Any], data: str
) -> Family:
    """A registered family; `filled` are arguments that follow from the examples."""
    kind = registered_class("family", name)
    parameters = inspect.signature(kind).parameters
    if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        for setting in settings:
            if setting not in parameters:
                raise unknown(f"setting of family {name!r}", setting, parameters)
    if name not in FAMILIES:
        filled = {**filled, "name": name}
    given = {key: value for key, value in filled.items() if key in parameters}
    try:
        family: Family = kind(**{**given, **settings})
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"family {name!r} does not fit {data}: {error}; give the setting that it needs, or "
            "choose another family"
        ) from error
    return family
