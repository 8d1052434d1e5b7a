"""Messages between the driver and its shards.

A message is some changes, made in their order, and one request, which is answered. The same changes
in the same order give a shard the same bits, wherever it is.
"""

from __future__ import annotations

import pickle  # noqa: TID251 - between processes of one run; never a file
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

WHOLE = 0
"""The node of all examples."""


class WireStump(NamedTuple):
    """A stump; `key` is the same for the same stump of a round."""

    key: int
    feature: int
    threshold: int
    votes: NDArray[np.int8]


class Target(NamedTuple):
    """The examples of a node, their labels multiplied by the outputs of some stumps."""

    node: int = WHOLE
    stumps: tuple[WireStump, ...] = ()


# ------------------------------------------------------------------------------------- changes


class Begin(NamedTuple):
    """A round begins: node 0 is all examples, and there are no others."""


class Release(NamedTuple):
    """The samples drawn so far are no longer needed."""


class Split(NamedTuple):
    """The examples of a node with phi = -1 become node `below`, the others node `above`."""

    node: int
    stump: WireStump
    below: int
    above: int


class Update(NamedTuple):
    """Weights times `right` where a stump agrees with the label, times `wrong` elsewhere."""

    feature: int
    threshold: int
    votes: NDArray[np.int8]
    right: float
    wrong: float


class LeafVotes(NamedTuple):
    """A node on which a base classifier is `votes` times the outputs of the stumps."""

    node: int
    stumps: tuple[WireStump, ...]
    votes: NDArray[np.int8]


class UpdateLeaves(NamedTuple):
    """As `Update`, for the base classifier with these leaves."""

    leaves: tuple[LeafVotes, ...]
    right: float
    wrong: float


class Restore(NamedTuple):
    """The weights of an earlier state."""

    state: dict[str, Any]


class Restart(NamedTuple):
    """The weights before the first round."""


Change: TypeAlias = Begin | Release | Split | Update | UpdateLeaves | Restore | Restart


# ------------------------------------------------------------------------- requests and answers


class Load(NamedTuple):
    """Load the rows. Answer: `Loaded`."""


class Loaded(NamedTuple):
    """What a source holds.

    Attributes
    ----------
    n_rows, n_examples, n_labels : int
        Rows, rows with weight, and K.
    least, most : float
        Least positive and largest user weight.
    families : tuple of Family
    n_bins : ndarray of int16, shape (F,)
    checksum : str
        SHA-256 of bank, labels and weights.
    """

    n_rows: int
    n_examples: int
    n_labels: int
    least: float
    most: float
    families: tuple[Any, ...]
    n_bins: NDArray[np.int16]
    checksum: str


class MeasureWeights(NamedTuple):
    """First label weights, of user weights in units of `unit`. Answer: `Measured`."""

    unit: float
    weight_init: str


class Measured(NamedTuple):
    """Least and sum of the label weights of a shard."""

    least: float
    total: float


class Build(NamedTuple):
    """Set the first weights, in units of `least`; `total` is their sum in all shards.

    Loads the rows if they are not; `checksum` is that of `Loaded`. Answer: `Sums`.
    """

    number: int
    measure: MeasureWeights
    least: float
    total: float
    one_search: bool
    n_jobs: int
    checksum: str


class Sums(NamedTuple):
    """Mass of the run's weights and, of each target asked for, (n, mass, sums (K,))."""

    mass: float
    targets: tuple[tuple[int, float, NDArray[np.float64]], ...]


class Nodes(NamedTuple):
    """Answer: `Sums` of some targets."""

    targets: tuple[Target, ...]


class Draw(NamedTuple):
    """Samples of ascending sizes, each of which contains the one before.

    Attributes
    ----------
    number : int
        Number of the draw in its search.
    target : Target
    scheme : str
    seed : int
    sizes : tuple of int
        Draws in this shard.
    units : tuple of float
        Factor of each sample: the inverse of the expected share of the draws in this shard.
    odds : float
        For logistic draws: the loss over the mass of all shards.
    """

    number: int
    target: Target
    scheme: str
    seed: int
    sizes: tuple[int, ...]
    units: tuple[float, ...]
    odds: float


class SampleOfTarget(NamedTuple):
    """A sample of a draw, or all examples of a target if `draw` is None."""

    target: Target
    draw: Draw | None = None
    sample: int = 0


class SearchRequest(NamedTuple):
    """What a search needs of a part. Answer: `SearchAnswer`.

    Attributes
    ----------
    part : SampleOfTarget
    features : ndarray of int64
        Features whose bins are sent, of the rows that follow sample `bins_after`.
    histograms : ndarray of int64
        Features whose histograms are sent.
    bins_after, weights_after : int
        Number of the sample whose rows are known to the driver; -1 is none.
    wide : bool
        Histograms as float64; else as float32.
    """

    part: SampleOfTarget
    features: NDArray[np.int64]
    histograms: NDArray[np.int64]
    bins_after: int
    weights_after: int
    wide: bool


class SearchAnswer(NamedTuple):
    """Sampled rows and histograms of a shard.

    Attributes
    ----------
    mass : float
        Of all examples of the shard.
    bins : ndarray of uint8, shape (features, rows)
    weights : ndarray of float32, shape (rows, K)
        Signed weights of the sampled rows.
    sums : ndarray of float32 or float64, shape (bins of all histograms, K)
        Histograms, one after another: `n_bins` rows of each feature.
    last : ndarray of uint8, shape (histograms,)
        The last bin of each feature that holds a row.
    """

    mass: float
    bins: NDArray[np.uint8]
    weights: NDArray[np.float32]
    sums: NDArray[Any]
    last: NDArray[np.uint8]


class Edges(NamedTuple):
    """Signed edges of stumps on a part. Answer: `Totals`."""

    part: SampleOfTarget
    features: NDArray[np.int64]
    thresholds: NDArray[np.int64]
    votes: NDArray[np.int8]
    below: NDArray[np.int8] | None


class Totals(NamedTuple):
    """Mass of all examples of the shard, and sums of any shape."""

    mass: float
    totals: NDArray[np.float64]


class BinTotals(NamedTuple):
    """Answer: `Totals` of all examples of a target, as of `Searcher.bin_totals`."""

    target: Target
    features: NDArray[np.int64]


class Logistic(NamedTuple):
    """Answer: `Totals` with the logistic mass of a target."""

    target: Target
    odds: float


class Finish(NamedTuple):
    """Label sums of a stump on all examples of a target. Answer: `Finished`."""

    target: Target
    feature: int
    threshold: int


class Finished(NamedTuple):
    """Sums of a shard; `totals` are those of w_il y_il phi(x_i), `sums` those of w_il y_il."""

    mass: float
    totals: NDArray[np.float64]
    target_mass: float
    sums: NDArray[np.float64]
    value: float
    values_computed: int


class Values(NamedTuple):
    """Answer: the state of the weights, `SignedWeights.state()`."""


class Digest(NamedTuple):
    """Answer: dict of checksums of what the shard holds."""


class Message(NamedTuple):
    """Changes, then a request; its answer is the answer of the message."""

    changes: tuple[Change, ...]
    request: Any


def pack_message(message: Any) -> bytes:
    """A message or an answer as bytes."""
    return pickle.dumps(message, protocol=5)


def unpack_message(content: bytes) -> Any:
    """A message or an answer from bytes."""
    return pickle.loads(content)
