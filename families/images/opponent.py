"""Image families on opponent colours instead of red, green and blue.

Cost: that of the family, and five operations for each pixel and opponent.

References: "additional versions of some of them making use of color information", [DF11] sec. 5.1,
without details; K. van de Sande, T. Gevers and C. Snoek, Evaluating color descriptors for object
and scene recognition, IEEE PAMI 32 (2010): O1, O2 and O3, without the factors 1/sqrt(2), 1/sqrt(6)
and 1/sqrt(3), which only scale the thresholds. Without them, opponents of bytes are integers, whose
sums are exact.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_choices, check_known
from boostsample.errors import SettingError
from boostsample.family import Fill, ImageFamily

_OWN = ("image_shape", "family", "opponents", "name")

_OPPONENTS = {"red-green": (1, -1, 0), "yellow-blue": (1, 1, -2), "intensity": (1, 1, 1)}
"""Weights of red, green and blue."""


class Opponent(ImageFamily):
    """An image family of this package on opponent colours.

    With R, G and B the three channels of an image: red-green R - G, yellow-blue R + G - 2 B,
    intensity R + G + B, in float32 in this order of operations. The first two are invariant to a
    constant added to all channels.

    Parameters
    ----------
    image_shape : tuple of int, (h, w, 3)
        The channels are red, green and blue.
    family : str
        Name of the family: "haar", "patches", ... (``boostsample list families``).
    opponents : sequence of str, default ("red-green", "yellow-blue", "intensity")
        The channels that the family reads, in this order.
    name : str, default "{family}-opponent"
        "{family}" is replaced by the name of the family.
    **settings
        Further settings of the family, without image_shape and name.

    Examples
    --------
    >>> colours = Opponent((1, 2, 3), "identity", ["red-green", "yellow-blue"])
    >>> colours.name, colours.feature_name(3)
    ('identity-opponent', 'pixel at row 0, column 1, opponent yellow-blue')
    >>> colours.compute([[[[9, 4, 1], [0, 1, 2]]]], range(4)).tolist()
    [[5.0, 11.0, -1.0, -3.0]]
    >>> Opponent((32, 32, 3), "haar", levels=2).settings()["levels"]
    2
    """

    def __init__(
        self,
        image_shape: tuple[int, ...],
        family: str,
        opponents: Sequence[str] = tuple(_OPPONENTS),
        name: str = "{family}-opponent",
        **settings: Any,
    ) -> None:
        kinds = _families()
        check_known("image family", family, kinds)
        super().__init__(image_shape, name)
        self.family = family
        self.name = self.name.replace("{family}", family)
        if len(self.image_shape) != 3 or self.n_channels != 3:
            raise SettingError(
                f"family {self.name!r} takes images of red, green and blue, image_shape "
                f"(height, width, 3), got {self.image_shape}"
            )
        self.opponents = check_choices("opponents", "opponent", opponents, _OPPONENTS)
        known = [p for p in inspect.signature(kinds[family]).parameters if p not in _OWN]
        for setting in settings:
            check_known(f"setting of family {family!r}", setting, known)
        shape = (*self.image_shape[:2], len(self.opponents))
        self._inner = kinds[family](image_shape=shape, name=self.name, **settings)
        self.n_features = self._inner.n_features
        self.cost = self._inner.cost + 10.0 * len(self.opponents)

    def settings(self) -> dict[str, Any]:
        """Arguments for an equal family, including the settings of the inner family."""
        inner = self._inner.settings()
        return {
            "image_shape": list(self.image_shape),
            "family": self.family,
            "opponents": list(self.opponents),
            "name": self.name,
            **{setting: value for setting, value in inner.items() if setting not in _OWN},
        }

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "patch sum of rows 4-11, columns 6-13, opponent red-green"."""
        name = self._inner.feature_name(self.check_feature(feature))
        return re.sub(r"\bchannel (\d+)", lambda m: f"opponent {self.opponents[int(m[1])]}", name)

    def plan_integers(
        self, features: NDArray[np.intp], largest: int
    ) -> tuple[NDArray[np.intp], Fill] | None:
        """As `plan`, with opponents in int16."""
        # Imported here, because the kernels import numba.
        from boostsample.kernels.images import mix_colours

        planned = self._inner.plan_integers(features, 4 * largest)
        if planned is None or 4 * largest >= 2**15:
            return None
        inner_pixels, inner_fill = planned
        pixels, members, channel = self._colours_of(inner_pixels)
        weights = np.array([_OPPONENTS[name] for name in self.opponents], np.int16)[channel]

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            seen = np.empty((len(inner_pixels), block.shape[1]), np.int16)
            mix_colours(block, members, weights, seen)
            inner_fill(seen, out)

        return pixels, fill

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """Reads three colours of each pixel; computes the opponents, then the inner family."""
        inner_pixels, inner_fill = self._inner.plan(features)
        pixels, members, channel = self._colours_of(inner_pixels)
        wanted = [
            (_OPPONENTS[opponent], np.flatnonzero(channel == k))
            for k, opponent in enumerate(self.opponents)
        ]

        def fill(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
            colours = block.reshape(3, len(pixels) // 3, -1)
            seen = np.empty((len(inner_pixels), block.shape[1]), np.float32)
            for weights, rows in wanted:
                if len(rows):
                    values = weights[0] * colours[0]
                    values += weights[1] * colours[1]
                    values += weights[2] * colours[2]
                    seen[rows] = values[members[rows]]
            inner_fill(seen, out)

        return pixels, fill

    def _colours_of(
        self, inner_pixels: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Three colours of all pixels to read; of each inner pixel, its place and its channel."""
        place, channel = np.divmod(inner_pixels, len(self.opponents))
        places, members = np.unique(place, return_inverse=True)
        return (np.arange(3)[:, None] + 3 * places).ravel(), members, channel


def _families() -> dict[str, Callable[..., ImageFamily]]:
    """The image families of this package that implement `plan`, by name."""
    from boostsample import families

    kinds: dict[str, Callable[..., ImageFamily]] = {}
    for name in families.__all__:
        member = getattr(families, name)
        if (
            inspect.isclass(member)
            and issubclass(member, ImageFamily)
            and not issubclass(member, Opponent)
            and not inspect.isabstract(member)
            and member.compute is ImageFamily.compute
        ):
            kinds[inspect.signature(member).parameters["name"].default] = member
    return kinds
