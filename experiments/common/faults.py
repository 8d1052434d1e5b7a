"""Errors collected, so that a user sees all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from boostsample.errors import BoostSampleError, DataError, SettingError

__all__ = ["Faults"]


class Faults:
    """Errors with the places that they belong to."""

    def __init__(self) -> None:
        self._found: list[tuple[str, BoostSampleError]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Collect the error of a block instead of raising it."""
        try:
            yield
        except BoostSampleError as error:
            self._found.append((place, error))

    def add(self, place: str, message: str) -> None:
        """Collect an error of settings."""
        self._found.append((place, SettingError(message)))

    def raise_all(self, what: str = "") -> None:
        """Raise one error with all of them, if there are any.

        A single one without a place, and nothing to call it, is raised as it is.

        Parameters
        ----------
        what : str
            What is faulty, in front of the message.
        """
        if not self._found:
            return
        told = [f"{place}: {error}" if place else str(error) for place, error in self._found]
        if len(told) == 1 and not what:
            place, error = self._found[0]
            raise error if not place else type(error)(told[0]) from error
        settings = any(isinstance(error, SettingError) for _, error in self._found)
        kind = SettingError if settings else DataError
        if len(told) > 1:
            told = [f"({number}) {text}" for number, text in enumerate(told, start=1)]
            what = f"{what} has {len(told)} errors" if what else f"{len(told)} errors"
        raise kind(f"{what}: {'; '.join(told)}")
