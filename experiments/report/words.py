"""Texts of a report: titles of its parts and how to read them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "AXES",
    "CHARGED",
    "COST",
    "NO_CELLS",
    "PICTURES",
    "READING",
    "SAMPLING",
    "SUMMARY",
    "TUNING",
    "PictureWords",
]


class PictureWords(NamedTuple):
    """The texts around a picture."""

    title: str
    text: str
    caption: str


SUMMARY = (
    "Each entry names the strategy with the best mean over the repetitions, with mean and standard "
    "deviation; then those that a test cannot tell from it."
)
READING = (
    "A look is one feature value of one example read in a search for a weak learner: to search Q "
    "features on T examples costs Q times T looks. All strategies may spend the same number of "
    "looks on a search. Finishing a weak learner on all N examples costs every strategy the same "
    "and is counted apart. Loss is log10 of the exponential loss on the training examples; test "
    "error is in percent. In tables, the best mean at a number of stumps, looks or seconds is bold "
    "on a tint; those with = cannot be told from it by the test in the notes."
)
NO_CELLS = (
    "Pictures of families, edges and margins, and of Q and T round by round, need the cells of the "
    "results folder. It has none, so that these pictures are left out."
)
AXES = {
    "stumps": ("After equally many stumps", ""),
    "looks": ("At equal looks", "Looks of search and modelling, all rounds so far."),
    "seconds": (
        "At equal seconds",
        (
            "Seconds of training, without scoring, on the machine that is named below. They depend "
            "on the machine and on its other load."
        ),
    ),
}
"""Title and text of the part for each axis."""
CHARGED = {
    "stumps": "Where it says 'charged', a tuned strategy pays for its search.",
    "looks": "Those of a tuned strategy are of the kept run alone, but for its charged curve.",
    "seconds": "Those of a tuned strategy are of the kept run alone.",
}
"""Additions to `AXES` if strategies were tuned."""
COST = "Looks of search and modelling, and seconds of training, up to each number of stumps."
TUNING = (
    "Each repetition trained all settings of the tuning grid of each tuned strategy, and kept the "
    "run with the smallest training loss at the end. Tuning uses no test examples."
)
SAMPLING = (
    "Q is the number of different features searched, T the number of examples of the search that "
    "found the winner. The tables show means over all searches so far."
)
PICTURES = {
    "families": PictureWords(
        "Families that the stumps come from",
        (
            "A family is a group of features made by one extractor. The bar at the right of each "
            "panel shows the shares of the families among all features, which uniform draws would "
            "give."
        ),
        "Share of each family among the stumps, over the rounds.",
    ),
    "edges": PictureWords(
        "Edges: expected, estimated, true",
        (
            "The edge is the weighted agreement of a stump with the labels. A strategy chooses the "
            "stump with the largest estimate H on the T examples that it searched; G is its edge "
            "on all N examples. H is a maximum over noisy estimates, and therefore too high where "
            "T is small. Strategies that model edges also show the edge that they expect."
        ),
        "Edges over the rounds, means over windows of rounds.",
    ),
    "margins": PictureWords(
        "Margins",
        (
            "The margin of an example for a label is the vote of all stumps for the right sign, "
            "divided by the sum of their alphas: from -1, all are wrong, to 1, all are right. "
            "Boosting keeps raising margins after the training error has reached zero (Schapire, "
            "Freund, Bartlett and Lee 1998)."
        ),
        "Cumulative distributions of the margins, by number of stumps.",
    ),
}
"""Pictures that need cells."""
