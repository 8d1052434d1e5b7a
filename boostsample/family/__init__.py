"""Base classes of feature families: named groups of features that are computed on demand.

A family has a number of features and a name for each, and computes any subset of them on any rows
without computing the rest. Strategies adapt to families, and banks are built from them. The
families of this package are in `boostsample.families`. To write one, subclass `Family`, or
`ImageFamily` for images, and run `boostsample.testing.check_family` on it.
"""

from boostsample.checks import check_choices
from boostsample.family.family import Family, check_examples, check_name
from boostsample.family.image_family import (
    PIXEL_LIMIT,
    Fill,
    ImageFamily,
    check_image_shape,
    pixel_major,
)

__all__ = [
    "PIXEL_LIMIT",
    "Family",
    "Fill",
    "ImageFamily",
    "check_choices",
    "check_examples",
    "check_image_shape",
    "check_name",
    "pixel_major",
]
