"""The families that a data set gets when the user names none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostsample.checks import check_integer
from boostsample.errors import SettingError
from boostsample.families.columns import Columns
from boostsample.families.gradient import Gradient
from boostsample.families.haar import Haar
from boostsample.families.identity import Identity
from boostsample.families.patches import PatchSums
from boostsample.family import Family, check_image_shape

__all__ = ["families_for"]

_PATCHES_PER_PIXEL = 2000 / 28**2


def families_for(
    example_shape: tuple[int, ...],
    *,
    seed: int = 0,
    n_patches: int | None = None,
    column_names: Sequence[str] | None = None,
) -> list[Family]:
    """Default families of a data set, by the shape of one example.

    Tables get one family of all columns. Images, grey or colour, get their pixels, gradients, Haar
    wavelet coefficients and patch sums, channel by channel: 5,824 features for 28 x 28, 1,867 for
    16 x 16.

    Parameters
    ----------
    example_shape : tuple of int
        ``X.shape[1:]``: (d,) for tables, (h, w) or (h, w, channels) for images.
    seed : int, default 0
        For the families that draw their members.
    n_patches : int, optional
        Default: 2,000 for 28 x 28 images and in proportion to the pixels for others (all channels
        together), but no more than there are.
    column_names : sequence of str, optional
        Names of a table's columns.

    Returns
    -------
    families : list of Family

    Examples
    --------
    >>> [(family.name, family.n_features) for family in families_for((8, 8))]
    [('identity', 64), ('gradient', 161), ('haar', 64), ('patches', 160)]
    """
    shape: Any = tuple(example_shape)
    if len(shape) == 1:
        width = check_integer("the number of columns", shape[0], 1)
        return [Columns(range(width), n_columns=width, column_names=column_names)]
    if len(shape) not in (2, 3):
        raise SettingError(
            "example_shape must be (columns,), (height, width) or (height, width, channels), that "
            f"is X.shape[1:], got {example_shape!r}; name the families yourself for other data"
        )
    shape = check_image_shape(shape)
    if n_patches is None:
        usual = max(10, 10 * round(shape[0] * shape[1] * _PATCHES_PER_PIXEL / 10))
        n_patches = min(usual, PatchSums(shape, None).n_features)
    families: list[Family] = [Identity(shape)]
    if max(shape[:2]) > 1:  # a single pixel has no neighbour
        families.append(Gradient(shape))
    if min(shape[:2]) > 1:  # in one row, the coefficients of two kinds are those of the other two
        families.append(Haar(shape))
    return [*families, PatchSums(shape, n_patches, seed)]
