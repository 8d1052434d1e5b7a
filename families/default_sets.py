"""Families of a data set: default ones, and registered ones by name.

Images get the ten families of [DF11] sec. 5.1. For MNIST the paper gives only their total, 16,451
features; these defaults have 16,353. For colour images the paper adds "additional versions of some
of them making use of color information". Here most families read opponent colours instead of red,
green and blue, which was better for each of seven families tried on CIFAR-10 (test error of
laminating after 300 stumps, one family alone, equal numbers of features: Haar wavelets 55.0 against
58.0 %, Fourier transform 54.9 against 58.6 %, Haar-like features 55.9 against 58.4 %, HoG 48.6
against 49.2 %). Families with random members come in both versions, with half of the members each:
log10 loss of uniform-naive after 1,000 stumps -0.484, against -0.476 with opponents alone.
Gradients, Fourier transform and local binary patterns read the intensity only, which needs a third
of the features.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from boostsample.checks import check_integer, check_known
from boostsample.errors import BoostSampleError, SettingError, unknown
from boostsample.families.columns import Columns
from boostsample.families.images.fourier import Fourier
from boostsample.families.images.gradient import Gradient
from boostsample.families.images.gradient_histograms import GradientHistograms, OrientedGradients
from boostsample.families.images.haar import Haar
from boostsample.families.images.haar_like import HaarLike
from boostsample.families.images.identity import Identity
from boostsample.families.images.lbp import ILBP, LBP
from boostsample.families.images.opponent import Opponent
from boostsample.families.images.patches import PatchSums
from boostsample.family import Family, ImageFamily, check_image_shape
from boostsample.names import is_in_file, parse_name, refuse_alternatives, short_name
from boostsample.registry import (
    FAMILIES,
    check_unshared,
    foreign_entries,
    named_class,
    registered_names,
)

_PIXELS = 28 * 28

_OPPONENTS = {
    "opponent": ("red-green", "yellow-blue", "intensity"),
    "intensity": ("intensity",),
}
"""Channels that a family reads from colour images, by the suffix of its name."""


class _Default(NamedTuple):
    """One family of the default sets, or one for each colour space."""

    family: Callable[..., ImageFamily]
    smallest: tuple[int, int]  # smallest shorter and longer side of images
    colours: tuple[str, ...]  # suffixes of its versions for colour images; "": red, green and blue
    drawn: int = 0  # random members for 28 x 28 pixels, all versions together; 0: not random


_DEFAULTS = {
    "identity": _Default(Identity, (1, 1), ("",)),
    "gradient": _Default(Gradient, (1, 2), ("intensity",)),
    "fourier": _Default(Fourier, (1, 2), ("intensity",)),
    "haar": _Default(Haar, (2, 2), ("opponent",)),  # redundant in one row
    "lbp": _Default(LBP, (3, 3), ("intensity",)),
    "ilbp": _Default(ILBP, (3, 3), ("intensity",)),
    "patches": _Default(PatchSums, (1, 1), ("", "opponent"), 1500),
    "gradient-histograms": _Default(GradientHistograms, (1, 3), ("", "opponent"), 2500),
    "hog": _Default(OrientedGradients, (1, 3), ("", "opponent"), 3500),
    "haar-like": _Default(HaarLike, (1, 2), ("", "opponent"), 2500),
}


def families_for(
    example_shape: tuple[int, ...],
    *,
    seed: int = 0,
    column_names: Sequence[str] | None = None,
) -> list[Family]:
    """Default families of a data set, by the shape of one example.

    Tables get one family of all columns. Images get the ten families that they are large enough
    for, per channel: 16,353 features for 28 x 28, 5,264 for 16 x 16. Three channels are taken as
    red, green and blue; most families then read opponent colours or the intensity, or come in two
    versions, see `Opponent`: 25,486 features for 32 x 32.

    The numbers of patches, histogram bins and Haar-like features are proportional to the pixels,
    all channels and versions together, but at most all that exist.

    Parameters
    ----------
    example_shape : tuple of int
        ``X.shape[1:]``: (d,) for tables, (h, w) or (h, w, channels) for images.
    seed : int, default 0
        Seed of families with random members.
    column_names : sequence of str, optional
        Names of a table's columns.

    Examples
    --------
    >>> [(family.name, family.n_features) for family in families_for((8, 8))[:4]]
    [('identity', 64), ('gradient', 161), ('fourier', 97), ('haar', 64)]
    >>> [family.name for family in families_for((32, 32, 3))[-2:]]
    ['haar-like', 'haar-like-opponent']
    """
    shape: Any = tuple(example_shape)
    if len(shape) == 1:
        width = check_integer("the number of columns", shape[0], 1)
        return [Columns(range(width), n_columns=width, column_names=column_names)]
    if len(shape) not in (2, 3):
        raise SettingError(
            "example_shape must be (columns,), (height, width) or (height, width, channels), that "
            f"is X.shape[1:], got {example_shape!r}; pass families for other data"
        )
    shape = check_image_shape(shape)
    is_colour = len(shape) == 3 and shape[2] == 3
    shorter, longer = sorted(shape[:2])
    families: list[Family] = []
    for name, default in _DEFAULTS.items():
        if shorter >= default.smallest[0] and longer >= default.smallest[1]:
            versions = default.colours if is_colour else ("",)
            settings = _drawn(default, shape, len(versions), seed) if default.drawn else {}
            for ending in versions:
                if ending:
                    seen, full = _OPPONENTS[ending], f"{name}-{ending}"
                    families.append(Opponent(shape, name, seen, full, **settings))
                else:
                    families.append(default.family(shape, **settings))
    return families


def _drawn(default: _Default, shape: tuple[int, ...], n_versions: int, seed: int) -> dict[str, Any]:
    """Settings of each version of a family with random members."""
    usual = default.drawn * shape[0] * shape[1] / _PIXELS / n_versions
    n_members = max(10, 10 * round(usual / 10))
    return {"n_members": min(n_members, default.family(shape, None).n_features), "seed": seed}


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
    other distributions (entry-point group `boostsample.families`), or of classes in files, as in
    ``my_file.py:Mine``. Arguments of these families that are called image_shape, n_columns,
    column_names and seed are filled in; one that is not of this package is called by its registered
    name, or its class, if it has an argument `name`.

    `wanted` are names as ``haar`` or ``haar:levels=2``, pairs of a name and settings, or families;
    `example_shape` is () for documents; `data` names the examples in messages, which list the
    words `also` that the caller takes. SettingError if a name or setting is unknown, or a family
    does not fit the examples.

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
    for entry in wanted:
        if isinstance(entry, Family):
            families.append(entry)
            continue
        name, settings = parse_name(entry) if isinstance(entry, str) else entry
        refuse_alternatives(
            f"family {name!r}", settings, "which only strategies take; give one value"
        )
        if name in usual:
            check_unshared("family", name, "boostsample")
            families.append(_changed(usual[name], settings))
        elif is_in_file(name) or name in registered_names("family"):
            families.append(_registered(name, settings, filled, data))
        else:
            foreign = [each.name for each in foreign_entries("family")]
            raise unknown(f"family of {data}", name, [*usual, *foreign, *also])
    return families


def _changed(family: Family, settings: Mapping[str, Any]) -> Family:
    if not settings:
        return family
    usual = family.settings()
    for setting in settings:
        if setting not in usual or isinstance(usual[setting], list):
            known = [name for name, value in usual.items() if not isinstance(value, list)]
            raise unknown(f"setting of family {family.name!r}", setting, known)
    try:
        return type(family)(**{**usual, **settings})
    except BoostSampleError:
        raise
    except (TypeError, ValueError) as error:
        raise SettingError(f"family {family.name!r} refuses its settings: {error}") from error


def _registered(
    name: str, settings: Mapping[str, Any], filled: Mapping[str, Any], data: str
) -> Family:
    kind = named_class("family", name)
    parameters = inspect.signature(kind).parameters
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        for setting in settings:
            check_known(f"setting of family {name!r}", setting, parameters)
    if name not in FAMILIES:
        filled = {**filled, "name": short_name(name).rpartition(":")[2]}
    fitting = {key: value for key, value in filled.items() if key in parameters}
    try:
        family: Family = kind(**{**fitting, **settings})
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"family {name!r} does not fit {data}: {error}; give the setting that it needs, or "
            "choose another family"
        ) from error
    return family
