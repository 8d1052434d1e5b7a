"""The handle of a drawn sample."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Handle of a drawn sample for `Step.search` and `Step.edges`; valid in its step only.

    Attributes
    ----------
    size : int
        Looks that one feature costs on this sample, T.
    scheme : str
        Scheme of the draw, a name of `boostsample.rows.sampling_schemes.SCHEMES`.
    exact : bool
        Whether the sample is all N examples with their exact weights (T >= N).
    """

    size: int
    scheme: str
    exact: bool
