"""The base classes, refused settings, members that never change, and opponent colours."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import boostsample.families as package
from boostsample.errors import DataError, SettingError
from boostsample.families import (
    ILBP,
    LBP,
    Columns,
    Fourier,
    Gradient,
    GradientHistograms,
    Haar,
    HaarLike,
    HashedText,
    Identity,
    Opponent,
    OrientedGradients,
    PatchSums,
    Text,
    families_for,
)
from boostsample.family import Family, Fill, ImageFamily, check_examples, pixel_major
from boostsample.testing.families import check_family


class Products(Family):
    """A table family of one's own: products of neighbouring columns."""

    def __init__(self, n_columns: int, name: str = "products") -> None:
        self.n_columns = n_columns
        self.name = name
        self.n_features = n_columns - 1

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        table = check_examples(X, (self.n_columns,), self.name)
        values: NDArray[np.float32] = table[:, wanted].astype(np.float32)
        return values * table[:, wanted + 1].astype(np.float32)

    def feature_name(self, feature: SupportsIndex) -> str:
        index = self.check_feature(feature)
        return f"column {index} times column {index + 1}"


class Brightest(ImageFamily):
    """An image family of one's own: the brightest pixel of each row."""

    def __init__(self, image_shape: tuple[int, ...], name: str = "brightest") -> None:
        super().__init__(image_shape, name)
        self.n_features = self.height

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"brightest pixel of row {self.check_feature(feature)}"

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        rows, members = np.unique(features, return_inverse=True)
        width = self.width * self.n_channels
        pixels = rows[:, None] * width + np.arange(width)

        def fill(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
            out[:] = block.reshape(len(rows), width, -1).max(axis=1)[members]

        return pixels.ravel(), fill


def test_families_of_ones_own_pass_the_checks() -> None:
    rng = np.random.default_rng(0)
    check_family(Products(5), rng.normal(size=(7, 5)).astype(np.float32))
    check_family(Brightest((5, 3, 2)), rng.normal(size=(7, 5, 3, 2)).astype(np.float32))


def test_repr_equality_and_hash() -> None:
    families = [Identity((3, 3)), Identity((3, 3, 1)), Identity((3, 3), "x"), Gradient((3, 3))]
    assert len({*families, Identity((3, 3))}) == 4
    assert repr(families[2]) == "Identity(image_shape=(3, 3), name='x')"
    assert families[0] != "identity"
    many = repr(Columns(range(1000)))
    assert many.startswith("Columns(columns=(0, 1, 2, ")
    assert len(many) < 200


def test_settings_hold_what_json_can_hold() -> None:
    family = Products(5)
    family.n_columns = np.int64(5)  # type: ignore[assignment] # as users do
    assert family.settings() == {"n_columns": 5, "name": "products"}
    assert type(family.settings()["n_columns"]) is int
    family.n_columns = {"a": (1, np.arange(2))}  # type: ignore[assignment] # nested settings
    assert family.settings()["n_columns"] == {"a": [1, [0, 1]]}
    family.n_columns = object()  # type: ignore[assignment] # what cannot be stored
    with pytest.raises(SettingError, match=r"Products\.n_columns cannot be stored .* object"):
        family.settings()
    del family.n_columns
    with pytest.raises(SettingError, match=r"Products must store each argument.*'n_columns'"):
        family.settings()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2e15, -1e300])
@pytest.mark.parametrize("layout", [np.asarray, pixel_major])
def test_pixels_beyond_the_limit_are_refused(value: float, layout: Any) -> None:
    images = np.zeros((9000, 3, 4, 2))
    images[8765, 2, 1, 1] = value
    family = Identity((3, 4, 2))
    message = r"'identity': pixels must .* example 8765 has .* at row 2, column 1, channel 1"
    with pytest.raises(DataError, match=message):
        family.compute(layout(images), range(24))
    assert not family.compute(layout(images), [0]).any()  # other pixels are not read


@pytest.mark.parametrize("shape", [(5, 4, 3), (5, 3, 4, 1), (5, 13), (5,), ()])
def test_other_images_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"takes arrays of shape \(n, 3, 4\), got shape"):
        Identity((3, 4)).compute(np.zeros(shape), [0])


def test_images_may_come_flat_as_lists_or_as_truth_values() -> None:
    images = np.random.default_rng(1).integers(0, 2, (6, 4, 5))
    for family in families_for((4, 5)):
        features = range(family.n_features)
        want = family.compute(images, features)
        for same in (images.reshape(6, 20), images.tolist(), images.astype(bool)):
            np.testing.assert_array_equal(family.compute(same, features), want)


@pytest.mark.parametrize("shape", [(0, 3), (7, 3), (7, 3, 4), (1300, 2, 3, 2)])
def test_pixel_major(shape: tuple[int, ...]) -> None:
    X = np.random.default_rng(2).integers(0, 256, shape, dtype=np.uint8)
    turned = pixel_major(X)
    np.testing.assert_array_equal(turned, X)
    assert turned.dtype == X.dtype
    assert np.moveaxis(turned, 0, -1).flags.c_contiguous
    assert pixel_major(turned) is turned


NAMES = ["age", "sex"]
#: A family, settings that it takes, and one line for each setting that it refuses.
REFUSED: list[tuple[Any, dict[str, Any], Any]] = [
    (
        Columns,
        {"columns": [0]},
        [
            ({"columns": []}, "at least one column"),
            ({"columns": [1, 1]}, "got 1 twice"),
            ({"columns": [3], "n_columns": 3}, "between 0 and 2, got 3"),
            ({"columns": [1.0]}, "got 1.0"),
            ({"columns": ["ag"], "column_names": NAMES}, "unknown column 'ag'.*age, sex"),
            ({"columns": "7-5"}, "'7-5' must not run backwards"),
            ({"columns": "3"}, "column '3' is given by name, which needs column_names"),
            ({"columns": slice(1, None)}, "needs n_columns, or an end"),
            ({"columns": slice(0, 4), "n_columns": 3}, "end of a slice .* 0 and 3, got 4"),
            ({"column_names": ["a", "a"]}, "got 'a' twice"),
            ({"column_names": [1]}, "one text per column"),
            ({"column_names": ["a"], "n_columns": 2}, "name all 2 columns, got 1"),
            ({"n_columns": 0}, "n_columns must be an integer at least 1"),
            ({"name": " "}, "not blank"),
        ],
    ),
    (
        Gradient,
        {"image_shape": (4, 4)},
        [
            ({"components": ["z"]}, "unknown gradient component 'z'.*x, y, magnitude"),
            ({"image_shape": (1, 1)}, r"at least 2 pixels .* got image_shape \(1, 1\)"),
            ({"image_shape": (5, 5.5)}, "image_shape must be"),
        ],
    ),
    (
        Fourier,
        {"image_shape": (4, 4)},
        [
            ({"components": ["phase"]}, "unknown Fourier component 'phase'.*cosine, sine, mag"),
            (
                {"image_shape": (1, 1, 3), "components": ["magnitude", "sine"]},
                "1 x 1 pixels have no Fourier magnitude or sine; use larger images, or cosines",
            ),
        ],
    ),
    (
        Haar,
        {"image_shape": (8, 5)},
        [
            ({"levels": levels}, "levels must be an integer between 1 and 3")
            for levels in (0, 4, 1.5, True, "2")
        ],
    ),
    *(
        (
            kind,
            {"image_shape": (3, 3)},
            [
                ({"image_shape": (2, 9)}, r"LBP needs .* 3 x 3 pixels, got image_shape \(2, 9\)"),
            ],
        )
        for kind in (LBP, ILBP)
    ),
    (
        PatchSums,
        {"image_shape": (8, 8), "n_members": 10},
        [
            ({"n_members": 785}, "n_members must be at most 784, .* got 785; None takes all"),
            ({"seed": -1}, "seed must be an integer at least 0, got -1"),
            ({"min_side": 9}, "min_side must be an integer between 1 and 8, got 9"),
            ({"max_side": 9}, "max_side must be an integer between 2 and 8, got 9"),
        ],
    ),
    (
        HaarLike,
        {"image_shape": (8, 8), "n_members": 10},
        [
            ({"n_members": 2057}, "n_members must be at most 2056, .* got 2057; None takes all"),
            ({"min_side": 0}, "min_side must be an integer at least 1, got 0"),
            ({"min_side": 5}, "no Haar-like feature .* sides of at least 5 fits .* lower min_side"),
            ({"kinds": ["five"]}, "unknown kind of Haar-like feature 'five'; known: two across"),
            ({"kinds": []}, "kinds must be one or more different ones of two across"),
        ],
    ),
    *(
        (
            kind,
            {"image_shape": (8, 8), "n_members": 10},
            [
                ({"image_shape": (2, 2, 3)}, r"3 pixels high or wide, got image_shape \(2, 2, 3\)"),
                ({"n_members": 10**6}, "number of histogram bins of rectangles .* sides of 2 to 8"),
                ({"n_orientations": least - 1}, f"integer between {least} and {degrees}"),
                ({"normalise": 1}, "normalise must be True or False, got 1"),
                ({"min_side": 9}, "min_side must be an integer between 1 and 8, got 9"),
            ],
        )
        for kind, least, degrees in ((GradientHistograms, 2, 180), (OrientedGradients, 4, 360))
    ),
    (
        Opponent,
        {"image_shape": (6, 5, 3), "family": "haar"},
        [
            ({"family": "sift"}, "unknown image family 'sift'; known: .*gradient"),
            ({"family": "opponent"}, "unknown image family 'opponent'"),
            ({"image_shape": (6, 5)}, r"'haar-opponent' takes images of red, .* got \(6, 5\)"),
            ({"opponents": ["red"]}, "unknown opponent 'red'; known: red-green"),
            ({"opponents": []}, "opponents must be one or more different ones of red-green"),
            ({"depth": 3}, "unknown setting of family 'haar' 'depth'; known: levels"),
            ({"levels": 9}, "levels must be an integer between 1 and 3, got 9"),
        ],
    ),
    (
        Text,
        {"vocabulary": ["weak"]},
        [
            ({"vocabulary": []}, "at least one term"),
            ({"vocabulary": ["a1", 2]}, "must hold texts, got 2"),
            ({"vocabulary": ["weak", "weak"]}, "got 'weak' twice"),
            ({"vocabulary": ["Weak"]}, "holds 'Weak', which no document can contain"),
            ({"ngram_range": (2, 2)}, "holds 'weak', which no"),
            ({"ngram_range": (2, 1)}, r"1 <= shortest <= longest, got \(2, 1\)"),
            ({"analyzer": "words"}, "unknown analyzer 'words'"),
            ({"lowercase": "no"}, "lowercase must be True or False, got 'no'"),
            ({"token_pattern": "("}, r"regular expression, got '\(': missing"),
        ],
    ),
    (HashedText, {}, [({"n_features": 0}, "n_features must be an integer at least 1, got 0")]),
]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (kind, {**settings, **wrong}, message)
        for kind, settings, lines in REFUSED
        for wrong, message in lines
    ],
)
def test_settings_are_refused(kind: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        kind(**settings)


@pytest.mark.parametrize(
    ("family", "names"),
    [
        (
            PatchSums((28, 28), 2000),
            {
                0: "patch sum of rows 0-19, columns 4-22",
                1: "patch sum of rows 11-27, columns 10-21",
                1999: "patch sum of rows 3-12, columns 7-10",
            },
        ),
        (
            HaarLike((28, 28), 2000),
            {
                0: "Haar-like two across of rows 12-20, columns 4-27",
                1: "Haar-like three down of rows 8-16, columns 1-12",
                1999: "Haar-like two across of rows 3-17, columns 0-5",
            },
        ),
        (
            HaarLike((28, 28), None),
            {
                0: "Haar-like two across of rows 0-0, columns 0-1",
                1: "Haar-like two across of rows 0-0, columns 0-3",
                100_000: "Haar-like two down of rows 3-24, columns 4-22",
                299_879: "Haar-like four of rows 26-27, columns 26-27",
            },
        ),
        (
            GradientHistograms((28, 28), 3000),
            {
                0: "gradients along 150 degrees in rows 2-16, columns 0-20",
                1: "gradients along 30 degrees in rows 4-8, columns 20-25",
                2999: "gradients along 30 degrees in rows 17-24, columns 20-25",
            },
        ),
        (
            OrientedGradients((28, 28), 3000),
            {
                0: "gradients towards 330 degrees in rows 1-8, columns 0-10",
                1: "gradients towards 30 degrees in rows 10-27, columns 22-26",
                2999: "gradients towards 330 degrees in rows 4-8, columns 17-25",
            },
        ),
    ],
    ids=repr,
)
def test_members_are_pinned(family: Any, names: dict[int, str]) -> None:
    """A stored model names features by number: these members may never change."""
    assert {j: family.feature_name(j) for j in names} == names


@pytest.mark.parametrize("kind", [PatchSums, HaarLike, GradientHistograms, OrientedGradients])
def test_a_larger_family_begins_with_the_smaller_one(kind: Any) -> None:
    small, large = kind((8, 8), 20, seed=3), kind((8, 8), 700, seed=3)
    names = [[family.feature_name(j) for j in range(20)] for family in (small, large)]
    assert names[0] == names[1]
    assert small != large
    assert small != kind((8, 8), 20, seed=4)


SHAPE = (6, 5, 3)


def images(dtype: Any = np.uint8, n: int = 7) -> NDArray[Any]:
    return np.random.default_rng(n).integers(0, 256, (n, *SHAPE)).astype(dtype)


def by_formula(X: NDArray[Any]) -> NDArray[np.float64]:
    """O1, O2 and O3 of van de Sande, Gevers and Snoek, (n, h, w, 3)."""
    red, green, blue = np.moveaxis(X.astype(np.float64), -1, 0)
    return np.stack(
        [
            (red - green) / np.sqrt(2),
            (red + green - 2 * blue) / np.sqrt(6),
            (red + green + blue) / np.sqrt(3),
        ],
        axis=-1,
    )


FACTORS = np.sqrt([2, 6, 3])  # what ours leave away

INSIDE: list[ImageFamily] = [
    Identity(SHAPE),
    Gradient(SHAPE),
    Haar(SHAPE, levels=2),
    PatchSums(SHAPE, 70, seed=3),
    HaarLike(SHAPE, 80, seed=2),
]


def wrapped(inner: ImageFamily, **own: Any) -> Opponent:
    """The same family on opponents."""
    settings = inner.settings()
    return Opponent(settings.pop("image_shape"), settings.pop("name"), **own, **settings)


@pytest.mark.parametrize("inner", INSIDE, ids=lambda family: family.name)
def test_is_the_family_on_converted_images(inner: ImageFamily) -> None:
    X = images()
    seen = np.rint(by_formula(X) * FACTORS).astype(np.float32)
    features = range(inner.n_features)
    family = wrapped(inner)
    assert (family.name, family.n_features) == (f"{inner.name}-opponent", inner.n_features)
    values = family.compute(X, features)
    np.testing.assert_array_equal(values, inner.compute(seen, features))
    assert values.T.flags.c_contiguous
    some = [3, 0, 17]  # few features read some pixels of some channels only
    np.testing.assert_array_equal(family.compute(X, some), values[:, some])


def test_the_formula_on_floats() -> None:
    X = np.random.default_rng(0).normal(size=(7, *SHAPE)).astype(np.float32)
    values = Opponent(SHAPE, "identity").compute(X, range(90)).reshape(7, *SHAPE)
    np.testing.assert_allclose(values / FACTORS, by_formula(X), rtol=1e-5, atol=1e-6)


def test_some_opponents() -> None:
    X = images()
    whole = Opponent(SHAPE, "identity").compute(X, range(90)).reshape(7, 30, 3)
    for chosen, channels in [
        (["yellow-blue"], [1]),
        (["intensity", "red-green"], [2, 0]),
        ("red-green", [0]),
    ]:
        family = Opponent(SHAPE, "identity", chosen)
        values = family.compute(X, range(family.n_features)).reshape(7, 30, -1)
        np.testing.assert_array_equal(values, whole[..., channels])


def test_names_say_the_opponent() -> None:
    pixels = Opponent((2, 2, 3), "identity", ["intensity", "red-green"])
    assert [pixels.feature_name(j) for j in (0, 7)] == [
        "pixel at row 0, column 0, opponent intensity",
        "pixel at row 1, column 1, opponent red-green",
    ]
    assert wrapped(INSIDE[3]).feature_name(0).startswith("patch sum of rows ")
    for inner in INSIDE:
        family = wrapped(inner)
        names = {family.feature_name(j) for j in range(family.n_features)}
        assert len(names) == family.n_features
        assert not any("channel" in name for name in names)


def test_settings_are_those_of_the_family_too() -> None:
    family = Opponent(SHAPE, "patches", ["intensity"], n_members=12, seed=4)
    assert {"opponents": ["intensity"], "n_members": 12}.items() <= family.settings().items()
    assert family == Opponent(**family.settings())
    assert family != Opponent(**{**family.settings(), "seed": 5})
    assert Opponent(SHAPE, "haar", name="my {family}").name == "my haar"
    assert "n_members=12" in repr(family)


def test_all_image_families_can_be_wrapped() -> None:
    kinds = {
        member
        for name in package.__all__
        if isinstance(member := getattr(package, name), type)
        and issubclass(member, ImageFamily)
        and member not in (ImageFamily, Opponent)
    }
    for kind in kinds:
        assert kind.compute is ImageFamily.compute, f"{kind.__name__} cannot be planned"
