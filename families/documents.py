"""Base of the families of documents: what text is, and the work on it done once.

Cost: reading the documents, whatever the number of features; the table that comes of it is kept
until the array of documents is gone, so that asking again costs no more than a sparse table. A lazy
bank shows other documents each time, which are read anew: keep such banks for sparse tables that
were made beforehand.
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
from boostsample.families._sparse import sparse_columns
from boostsample.family import Family, check_name

__all__ = ["WORDS", "DocumentFamily", "PresenceFamily", "check_analysis", "check_documents"]

WORDS = r"(?u)\b\w\w+\b"
"""scikit-learn's usual words: two letters, digits or underscores, or more."""

_ANALYZERS = ("word", "char", "char_wb")
_TURNS = threading.RLock()
"""Documents are read by one thread at a time: the others would do the same work again."""


class DocumentFamily(Family):
    """Base of the families whose examples are documents: a sequence of str, shape (n,).

    A subclass sets `n_features` and writes `table` and `feature_name`. The settings are those of
    scikit-learn's vectorizers, which stand in `analysis`.

    Parameters
    ----------
    ngram_range : tuple of int, (shortest, longest)
        Numbers of words in a row, or of characters, that make a term.
    analyzer : {"word", "char", "char_wb"}
        What terms are made of: words, characters, or characters within words.
    lowercase : bool
        Whether documents are turned into lower case first.
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
        self.analysis = check_analysis(ngram_range, analyzer, lowercase, token_pattern)
        self.ngram_range: tuple[int, int] = self.analysis["ngram_range"]
        self.analyzer = analyzer
        self.lowercase = bool(lowercase)
        self.token_pattern = token_pattern

    @abc.abstractmethod
    def table(self, documents: list[str]) -> Any:
        """Values of all features of some documents.

        Parameters
        ----------
        documents : list of str
            At least one.

        Returns
        -------
        values : sparse matrix or array, shape (n, n_features)
            Each row follows from its document alone.
        """

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some features for some documents, see `Family.compute`; feature-major."""
        wanted = self.check_features(features)
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        documents = self._documents(array)
        if not documents or not wanted.size:
            return np.empty((len(wanted), len(documents)), np.float32).T
        with _TURNS:
            matrix = self._table(array, documents)
        return sparse_columns(matrix, wanted).T

    def _documents(self, array: NDArray[Any]) -> list[str]:
        if array.ndim != 1:
            raise DataError(
                f"family {self.name!r} takes documents, a sequence of texts of shape (n,), got "
                f"shape {array.shape}; give it such examples or other families"
            )
        return check_documents(array.tolist(), f"family {self.name!r}")

    def _table(self, array: NDArray[Any], documents: list[str]) -> Any:
        """The table of these documents in CSC format, the last one again if they are the same.

        Texts cannot be changed, so that comparing them (mostly by identity) is safe where the array
        is written to.
        """
        last = self.__dict__.get("_last")
        if last is not None and last[1] == documents:
            return last[2]
        matrix = self.table(documents).tocsc()
        me = weakref.ref(self)

        def forget(_: object) -> None:
            family = me()
            if family is not None:
                family.__dict__.pop("_last", None)

        self._last = (weakref.ref(array, forget), documents, matrix)
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_last"}


class PresenceFamily(DocumentFamily):
    """Base of the families of documents whose features are 0 or 1, with 0.5 between them."""

    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        """The range in which 0.5 is the only bin edge.

        Thus a term that no training (or reference) row holds has a threshold as well, and none of
        them is computed to find it.
        """
        edge = np.full(len(features), 0.5, np.float32)
        return np.nextafter(edge, np.float32(0)), edge


def check_analysis(
    ngram_range: Any, analyzer: str, lowercase: bool, token_pattern: str
) -> dict[str, Any]:
    """Settings in range under the names that scikit-learn's vectorizers give them.

    Raises
    ------
    SettingError
        One is out of range.
    """
    rule = "ngram_range must be (shortest, longest), two numbers of at least 1 that do not fall"
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
    if analyzer == "word":  # elsewhere it would be unused, which scikit-learn warns of
        settings["token_pattern"] = token_pattern
    return settings


def check_documents(documents: Iterable[Any], who: str) -> list[str]:
    """Documents as a list of texts, or a DataError that names the first that is none."""
    texts = list(documents)
    for row, document in enumerate(texts):
        if not isinstance(document, str):
            raise DataError(
                f"{who}: each document must be text, but document {row} is {document!r}; "
                "decode bytes, and give missing documents as ''"
            )
    return texts
