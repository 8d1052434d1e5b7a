"""Collects errors to report all of them in one message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from boostsample.errors import BoostSampleError, DataError, SettingError, shortened

_MOST = 900  # most characters of several errors together, below what a message may have
_LEAST = 100  # characters of each of them that are shown at least


class Faults:
    """A list of errors, each with its place: an entry of a file, an option or a data set."""

    def __init__(self) -> None:
        self._errors: list[tuple[str, BoostSampleError]] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Collect the error of a block instead of raising it; `place` may be empty."""
        try:
            yield
        except BoostSampleError as error:
            self._errors.append((place, error))

    def raise_all(self, subject: str = "") -> None:
        """Raise one error that lists all collected ones, after `subject`, if there are any.

        It is a SettingError if one of them is. Long ones are shortened, of very many the first are
        listed.
        """
        if not self._errors:
            return
        texts = [f"{place}: {error}" if place else str(error) for place, error in self._errors]
        if len(texts) == 1 and not subject:
            place, error = self._errors[0]
            raise type(error)(texts[0]) if place else error
        if len(texts) > 1:
            subject = f"{subject} has {len(texts)} errors" if subject else f"{len(texts)} errors"
            texts = [f"({number}) {text}" for number, text in enumerate(texts, start=1)]
            if sum(map(len, texts)) > _MOST:
                most = max(_MOST // len(texts), _LEAST)
                left_out = len(texts) - _MOST // most
                texts = [shortened(text, most) for text in texts[: _MOST // most]]
                texts += [f"and {left_out} more"] if left_out > 0 else []
        settings = any(isinstance(error, SettingError) for _, error in self._errors)
        raise (SettingError if settings else DataError)(f"{subject}: {'; '.join(texts)}")
