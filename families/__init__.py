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
from boostsample.families.documents import DocumentFamily, PresenceFamily
from boostsample.families.fourier import Fourier
from boostsample.families.gradient import Gradient
from boostsample.families.gradient_histograms import GradientHistograms
from boostsample.families.haar import Haar
from boostsample.families.haar_like import HaarLike
from boostsample.families.hashed_text import HashedText
from boostsample.families.identity import Identity
from boostsample.families.lbp import ILBP, LBP
from boostsample.families.opponent import Opponent
from boostsample.families.oriented_gradients import OrientedGradients
from boostsample.families.patches import PatchSums
from boostsample.families.text import Text, text_family
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
