"""Feature families: one file each, imported as `boostsample.families`.

`families_for(X.shape[1:])` gives the default families of a data set; `Family` and `ImageFamily` are
the bases for families of your own.
"""

if __name__ != "boostsample.families":
    raise ImportError(
        f"import boostsample.families, not {__name__}: "
        "two copies of every class would not know each other"
    )

from boostsample.families.columns import Columns, column_groups
from boostsample.families.default_sets import families_for
from boostsample.families.gradient import Gradient
from boostsample.families.haar import Haar
from boostsample.families.identity import Identity
from boostsample.families.patches import PatchSums
from boostsample.family import Family, ImageFamily

__all__ = [
    "Columns",
    "Family",
    "Gradient",
    "Haar",
    "Identity",
    "ImageFamily",
    "PatchSums",
    "column_groups",
    "families_for",
]
