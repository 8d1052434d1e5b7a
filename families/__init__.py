"""Feature families, one module each; import this package as `boostsample.families`.

`families_for(X.shape[1:])` returns the default families of a data set. `Family`, `ImageFamily` and
`DocumentFamily` are the base classes for new families.
"""

if __name__ != "boostsample.families":
    raise ImportError(
        f"import boostsample.families, not {__name__}: two copies of every class would be "
        "incompatible"
    )

from boostsample.families.columns import Columns, column_groups
from boostsample.families.default_sets import families_for
from boostsample.families.images.fourier import Fourier
from boostsample.families.images.gradient import Gradient
from boostsample.families.images.gradient_histograms import GradientHistograms, OrientedGradients
from boostsample.families.images.haar import Haar
from boostsample.families.images.haar_like import HaarLike
from boostsample.families.images.identity import Identity
from boostsample.families.images.lbp import ILBP, LBP
from boostsample.families.images.opponent import Opponent
from boostsample.families.images.patches import PatchSums
from boostsample.families.text import (
    DocumentFamily,
    HashedText,
    PresenceFamily,
    Text,
    text_family,
)
from boostsample.family import Family, ImageFamily

__all__ = [
    "ILBP",
    "LBP",
    "Columns",
    "DocumentFamily",
    "Family",
    "Fourier",
    "Gradient",
    "GradientHistograms",
    "Haar",
    "HaarLike",
    "HashedText",
    "Identity",
    "ImageFamily",
    "Opponent",
    "OrientedGradients",
    "PatchSums",
    "PresenceFamily",
    "Text",
    "column_groups",
    "families_for",
    "text_family",
]
