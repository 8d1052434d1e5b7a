"""Families by specification: a registered name with settings, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from boostsample.errors import DataError, SettingError, one_line
from boostsample.family import Family
from boostsample.registry import registered_class, registered_name


def family_specs(families: Sequence[Family]) -> list[dict[str, Any]]:
    """The specification of each family: registered name, settings and number of features.

    SettingError if a family is not registered, or if its settings do not make an equal family.
    """
    return [_spec(family) for family in families]


def families_of_specs(specs: Any) -> list[Family]:
    """The families of `family_specs`.

    A family of another distribution is imported from there, by its entry point. DataError if a
    family is unknown here, refuses its settings or has another number of features.
    """
    if not isinstance(specs, list) or not all(isinstance(one, Mapping) for one in specs):
        raise DataError("its families must be a list of specifications")
    return [_family(spec) for spec in specs]


def _spec(family: Family) -> dict[str, Any]:
    kind = type(family)
    name = registered_name("family", kind)
    who = f"the family {family.name!r} ({kind.__module__}.{kind.__qualname__})"
    if name is None:
        raise SettingError(
            f"a saved model needs registered families, but {who} is not; register its class by "
            "an entry point of the group boostsample.families, or keep the model with skops"
        )
    settings = family.settings()
    try:
        made = kind(**settings)
    except Exception as error:  # a family of the user may raise anything
        raise SettingError(
            f"a saved model needs families that settings() makes again, but {who} refuses its "
            f"own: {one_line(error)}; correct its settings()"
        ) from error
    if made != family or (made.name, made.n_features) != (family.name, family.n_features):
        raise SettingError(
            f"a saved model needs families that settings() makes again, but {who} becomes another "
            "one; correct its settings()"
        )
    return {"name": name, "settings": settings, "n_features": family.n_features}


def _family(spec: Mapping[str, Any]) -> Family:
    name, settings, n_features = (spec.get(key) for key in ("name", "settings", "n_features"))
    if not isinstance(name, str) or not isinstance(settings, dict):
        raise DataError(f"a family must have a name and settings, got {spec!r:.100}")
    try:
        kind = registered_class("family", name)
    except SettingError as error:
        raise DataError(
            f"it needs the family {name!r}, which cannot be loaded here ({one_line(error)}); "
            "install the distribution that registers it"
        ) from error
    try:
        family: Family = kind(**settings)
    except Exception as error:  # a family of another distribution may raise anything
        raise DataError(f"its family {name!r} refuses its settings: {one_line(error)}") from error
    if family.n_features != n_features:
        raise DataError(
            f"its family {name!r} must have {n_features} features, but has {family.n_features} "
            "here; use the version of the family that the model was trained with"
        )
    return family
