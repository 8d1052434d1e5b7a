"""Pictures of members of image families, drawn over an example image.

Sets each pixel of the example to black and to white, and shows how the value of the member changes.
This works for every family: sums and differences as well as codes and histograms.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample import families as package
from boostsample.checks import check_count, check_integer
from boostsample.errors import BoostSampleError, DataError, SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plots.drawing import styled_axes
from boostsample.family import Family, ImageFamily, check_image_shape
from boostsample.registry import default_families, families_by_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LONGEST_SIDE = 4096  # most pixels of a side of an image that members are drawn over

_MOST_PROBES = 4096  # images with more pixels are probed in squares of pixels
_CHUNK_PIXELS = 1 << 23  # pixels of changed images in memory at a time
_RISES = np.array([0.78, 0.05, 0.10])
_FALLS = np.array([0.02, 0.30, 0.80])
"""A red and a blue that colour-blind readers can distinguish."""
_PER_ROW = 8
_LETTERS = 24  # longest line below a picture
_TRIES = 8
_MEMBERS = 1000  # default size of families with a setting ``n_members``


def member_changes(
    family: Family,
    features: ArrayLike,
    image: NDArray[Any],
    low: float | None = None,
    high: float | None = None,
) -> NDArray[np.float32]:
    """Compute how the values of features change with each pixel of an image.

    Takes the largest change in absolute value (the first of equal ones) from black to white, from
    the pixel to white, and from black to the pixel; for a linear feature this is its coefficient
    times the contrast. Changes all channels together, then one by one, as features of opponent
    colours may ignore a common change.

    `features` has shape (q,), `image` (h, w) or (h, w, channels), the result float32 (q, h, w),
    positive where a brighter pixel raises the value. `low` and `high` are black and white, by
    default the smallest and the largest value of the image; DataError if they are equal.
    """
    image = np.asarray(image)
    black = image.min() if low is None else image.dtype.type(low)
    white = image.max() if high is None else image.dtype.type(high)
    if not black < white:
        raise DataError(
            "a picture of members needs an image with a darkest and a brightest value, got "
            f"{black} and {white}; choose another example"
        )
    wanted = np.asarray(features)
    height, width = image.shape[:2]
    side = math.ceil(math.sqrt(height * width / _MOST_PROBES))
    squares = [
        (slice(r, r + side), slice(c, c + side))
        for r in range(0, height, side)
        for c in range(0, width, side)
    ]
    channels: list[Any] = [...]
    if image.ndim == 3 and image.shape[2] > 1:
        channels += range(image.shape[2])
    unchanged = family.compute(image[None], wanted)
    out = np.zeros((len(wanted), height, width), np.float32)
    step = max(1, _CHUNK_PIXELS // image.size)
    for start in range(0, len(squares), step):
        chunk = squares[start : start + step]
        tried: list[NDArray[np.float32]] = []
        for channel in channels:
            up, down = (
                family.compute(_changed(image, chunk, channel, value), wanted) - unchanged
                for value in (white, black)
            )
            tried += [up - down, up, -down]
        every = np.stack(tried)
        largest = np.abs(every).argmax(axis=0)
        strongest = np.take_along_axis(every, largest[None], axis=0)[0]
        for (rows, columns), values in zip(chunk, strongest, strict=True):
            out[:, rows, columns] = values[:, None, None]
    return out


def _changed(
    image: NDArray[Any], squares: Sequence[tuple[slice, slice]], channel: Any, value: Any
) -> NDArray[Any]:
    images = np.repeat(image[None], len(squares), axis=0)
    for copy, (rows, columns) in zip(images, squares, strict=True):
        copy[rows, columns, channel] = value
    return images


def choose_members(
    family: Family,
    image: NDArray[Any],
    n: int = _PER_ROW,
    seed: int = 0,
    low: float | None = None,
    high: float | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Draw members from all parts of a family: ascending, with their `member_changes`.

    Draws one member from each of n stretches of equal length. If the image does not change its
    value, tries a few others of the stretch.
    """
    check_integer("n", n, 1)
    rng = np.random.default_rng(seed)
    stretches = np.array_split(np.arange(family.n_features), min(n, family.n_features))
    tried = [rng.permutation(part)[:_TRIES] for part in stretches]
    moves = member_changes(family, np.concatenate(tried), image, low, high)
    moved = (moves != 0).any(axis=(1, 2))
    starts = np.cumsum([0, *map(len, tried[:-1])])
    chosen = [
        start + int(moved[start : start + len(part)].argmax())
        for start, part in zip(starts, tried, strict=True)
    ]
    return np.concatenate(tried)[chosen].astype(np.intp), moves[chosen]


@styled_axes
def members_figure(
    families: Sequence[Family],
    image: ArrayLike,
    *,
    low: float | None = None,
    high: float | None = None,
    title: str = "",
    seed: int = 0,
) -> Figure:
    """Draw a row of pictures for each family: the image, and members over it.

    `families` are of images of this shape; `seed` chooses their members. For `image`, `low` and
    `high` see `member_changes`. Raises DataError if the image has one colour, or a family rejects
    it.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    picture = np.asarray(image)
    if not families:
        raise SettingError("a picture of members needs at least one family, got none")
    columns = _PER_ROW + 1
    height = 1.42 * min(max(picture.shape[0] / picture.shape[1], 0.2), 3) + 0.55
    size = (1.42 * columns, height * len(families) + 0.9)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(hspace=0, h_pad=0.06))
    rows = figure.subplots(len(families), columns, squeeze=False)
    shown = _grey(picture, low, high)
    for family, axes in zip(families, rows, strict=True):
        features, moves = choose_members(family, picture, seed=seed, low=low, high=high)
        _tile(axes[0], shown, f"{family.name}\n{family.n_features:,} features", "bold")
        for place, feature, move in zip(axes[1:], features, moves, strict=False):
            _tile(place, _coloured(shown, move), family.feature_name(int(feature)))
        for place in axes[1 + len(features) :]:
            place.set_axis_off()
    figure.suptitle(title or "Pixels that members of the families depend on")
    figure.supxlabel(
        "red: the value rises where the pixel turns from black to white; blue: it falls; "
        "each picture in its own scale",
        fontsize=9,
    )
    return figure


def _tile(axes: Axes, pixels: NDArray[np.float64], text: str, weight: str = "normal") -> None:
    axes.imshow(pixels, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)
    lines = [part for line in text.split("\n") for part in textwrap.wrap(line, _LETTERS)]
    if len(lines) > 4:
        lines = [*lines[:3], f"{lines[3][: _LETTERS - 4]} ..."]
    axes.set_xlabel("\n".join(lines), fontsize=7, fontweight=weight, labelpad=3)


def _grey(image: NDArray[Any], low: float | None, high: float | None) -> NDArray[np.float64]:
    """The image as (h, w, 3) between 0 and 1; averages channels unless there are three."""
    values = image.astype(np.float64)
    black = values.min() if low is None else low
    white = values.max() if high is None else high
    values = np.clip((values - black) / max(white - black, 1e-300), 0, 1)
    if values.ndim == 3 and values.shape[2] != 3:
        values = values.mean(axis=2)
    return values if values.ndim == 3 else np.repeat(values[:, :, None], 3, axis=2)


def _coloured(shown: NDArray[np.float64], move: NDArray[np.float32]) -> NDArray[np.float64]:
    largest = float(np.abs(move).max())
    strength = np.abs(move)[:, :, None] / largest if largest else np.zeros((*move.shape, 1))
    opacity = 0.75 * strength**0.7  # keeps small changes visible
    colour = np.where(move[:, :, None] > 0, _RISES, _FALLS)
    pale = 0.25 + 0.55 * shown.mean(axis=2, keepdims=True)
    mixed: NDArray[np.float64] = pale * (1 - opacity) + colour * opacity
    return mixed


def parse_member_shape(text: str) -> tuple[int, ...]:
    """Read the shape of an image.

    >>> parse_member_shape("28x28"), parse_member_shape("32x32x3")
    ((28, 28), (32, 32, 3))
    """
    parts = text.lower().split("x")
    if len(parts) not in (2, 3) or not all(part.strip().isdecimal() for part in parts):
        raise SettingError(
            "image-shape of a picture of members must be height and width, and channels if any, "
            f"as in 28x28 or 32x32x3, got {text!r}"
        )
    shape = check_image_shape([int(part) for part in parts])
    for side in shape:
        check_count("each side of image-shape", side, _LONGEST_SIDE)
    return shape


def image_for_members(
    data: Dataset, example: int, image_shape: tuple[int, ...] | None = None
) -> tuple[NDArray[Any], float, float]:
    """Return one image of a data set, and the smallest and largest value of all images.

    With `image_shape` stretches the image to this height and width by linear interpolation, and
    repeats or cuts its channels. Raises SettingError if the data set has no such image.
    """
    if not data.is_image:
        raise SettingError(
            f"a picture of members needs images, but {data.name} is a table of "
            f"{data.X.shape[1]} columns; name other data"
        )
    check_integer("example", example, 0, data.n_examples - 1)
    image: NDArray[Any] = data.X[example]
    low, high = float(data.X.min()), float(data.X.max())
    if image_shape is None or image.shape == image_shape:
        return image, low, high
    from scipy.ndimage import zoom

    channels = image if image.ndim == 3 else image[:, :, None]
    scale = (image_shape[0] / image.shape[0], image_shape[1] / image.shape[1], 1)
    stretched = zoom(channels.astype(np.float32), scale, order=1, mode="nearest", grid_mode=True)
    wanted = image_shape[2] if len(image_shape) == 3 else 1
    resized = stretched[:, :, np.arange(wanted) % stretched.shape[2]].astype(image.dtype)
    return resized.reshape(image_shape), low, high


def families_for_members(
    image_shape: tuple[int, ...],
    names: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> list[Family]:
    """Make image families by name: the default ones and all others of `boostsample.families`.

    `names` maps names to settings; by default returns all families that fit the shape. `seed` is
    for families that draw their members. SettingError for an unknown name or setting.
    """
    known = {family.name: family for family in default_families(image_shape, seed=seed)}
    skipped = {type(family) for family in known.values()}
    defaults = {"seed": seed, "n_members": min(_MEMBERS, math.prod(image_shape))}
    for name in package.__all__:
        kind: Any = vars(package)[name]
        is_new = inspect.isclass(kind) and issubclass(kind, ImageFamily) and kind not in skipped
        if is_new and not inspect.isabstract(kind):
            parameters = inspect.signature(kind).parameters
            usual = {key: value for key, value in defaults.items() if key in parameters}
            with suppress(BoostSampleError, TypeError):  # the family does not fit the shape
                family = kind(image_shape, **usual)
                known.setdefault(family.name, family)
    if names is None:
        return list(known.values())
    chosen = []
    for pair in names.items():
        if pair[0] in known and not pair[1]:
            chosen.append(known[pair[0]])
        else:
            chosen += families_by_name([pair], image_shape, seed=seed, data="images of this shape")
    return chosen
