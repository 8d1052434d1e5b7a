"""Base classes of families whose examples are documents.

Cost: one pass over the documents, whatever the number of features. The resulting sparse table is
kept as long as the array of documents, so that further calls cost as much as a sparse table. A lazy
bank passes other documents each time, which are processed again; use it with precomputed sparse
tables instead.
"""

from __future__ import annotations

import abc
import re
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError, unknown
from boostsample.families.columns import sparse_columns
from boostsample.family import Family, check_name

DOCUMENT_WORDS = r"(?u)\b\w\w+\b"
"""scikit-learn's default words: two or more letters, digits or underscores."""

_ANALYZERS = ("word", "char", "char_wb")
_TURNS = threading.RLock()
"""One thread at a time processes documents: the others would repeat the same work."""


class DocumentFamily(Family):
    """Base class of families whose examples are documents: a sequence of str, shape (n,).

    A subclass sets `n_features` and implements `table` and `feature_name`. `analysis` holds the
    settings as scikit-learn's vectorizers take them.

    Parameters
    ----------
    ngram_range : tuple of int, (shortest, longest)
        Numbers of consecutive words or characters in a term.
    analyzer : {"word", "char", "char_wb"}
        Whether terms consist of words, of characters, or of characters within words.
    lowercase : bool
        Whether documents are converted to lower case first.
    token_pattern : str
        Regular expression of a word.
    name : str
    """

    reads_numbers = False

    def __init__(
        self,
        ngram_range: tuple[int, int],
        analyzer: str,
        lowercase: bool,
        token_pattern: str,
        name: str,
    ) -> None:
        self.name = check_name(name)
        self.analysis = check_document_settings(ngram_range, analyzer, lowercase, token_pattern)
        self.ngram_range: tuple[int, int] = self.analysis["ngram_range"]
        self.analyzer = analyzer
        self.lowercase = bool(lowercase)
        self.token_pattern = token_pattern

    @abc.abstractmethod
    def table(self, documents: list[str]) -> Any:
        """Values of all features of at least one document: sparse matrix (n, n_features).

        Each row depends on its document only.
        """

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some features for some documents, see `Family.compute`; feature-major."""
        wanted = self.check_features(features)
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        if array.ndim != 1:
            raise DataError(
                f"family {self.name!r} takes documents, a sequence of texts of shape (n,), got "
                f"shape {array.shape}; give it such examples or other families"
            )
        documents = check_documents(array.tolist(), f"family {self.name!r}")
        if not documents or not wanted.size:
            return np.empty((len(wanted), len(documents)), np.float32).T
        with _TURNS:
            matrix = self._table(array, documents)
        return sparse_columns(matrix, wanted).T

    def _table(self, array: NDArray[Any], documents: list[str]) -> Any:
        """The table of these documents in CSC format; reuses the last one for equal documents.

        Texts are compared (mostly by identity), because the array itself may have been changed.
        """
        last = self.__dict__.get("_last")
        if last is not None and last[1] == documents:
            return last[2]
        matrix = self.table(documents).tocsc()
        me = weakref.ref(self)

        def drop(_: object) -> None:
            family = me()
            if family is not None:
                family.__dict__.pop("_last", None)

        self._last = (weakref.ref(array, drop), documents, matrix)
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_last"}


class PresenceFamily(DocumentFamily):
    """Base class of families of documents whose features are 0 or 1."""

    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        """A range with 0.5 as the only bin edge.

        Every term then has a threshold, even one that no training (or reference) row contains.
        """
        edge = np.full(len(features), 0.5, np.float32)
        return np.nextafter(edge, np.float32(0)), edge


def check_document_settings(
    ngram_range: Any, analyzer: str, lowercase: bool, token_pattern: str
) -> dict[str, Any]:
    """Checked settings as scikit-learn's vectorizers take them; SettingError if out of range."""
    rule = "ngram_range must be (shortest, longest), with 1 <= shortest <= longest"
    if not isinstance(ngram_range, Sequence) or len(ngram_range) != 2:
        raise SettingError(f"{rule}, got {ngram_range!r}")
    shortest = check_integer("the shortest of ngram_range", ngram_range[0], 1)
    longest = check_integer("the longest of ngram_range", ngram_range[1], 1)
    if longest < shortest:
        raise SettingError(f"{rule}, got {ngram_range!r}")
    if analyzer not in _ANALYZERS:
        raise unknown("analyzer", analyzer, _ANALYZERS)
    try:
        n_groups = re.compile(token_pattern).groups
    except (TypeError, re.error) as error:
        raise SettingError(
            f"token_pattern must be a regular expression, got {token_pattern!r}: {error}"
        ) from None
    if n_groups > 1:
        raise SettingError(f"token_pattern must have at most one group, got {token_pattern!r}")
    settings = {
        "ngram_range": (shortest, longest),
        "analyzer": analyzer,
        "lowercase": bool(lowercase),
    }
    if analyzer == "word":  # scikit-learn warns if it is unused
        settings["token_pattern"] = token_pattern
    return settings


def check_documents(documents: Iterable[Any], who: str) -> list[str]:
    """Documents as a list of texts; a DataError names the first that is not text."""
    texts = list(documents)
    for row, document in enumerate(texts):
        if not isinstance(document, str):
            raise DataError(
                f"{who}: each document must be text, but document {row} is {document!r}; "
                "decode bytes, and give missing documents as ''"
            )
    return texts
