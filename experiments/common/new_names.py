"""New names of strategies in tables and pictures, as in ``laminating=Ours,ucb=UCB1``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from boostsample.errors import SettingError, unknown


def parse_new_names(text: str) -> dict[str, str]:
    """Read ``OLD=NEW[,OLD=NEW...]``; the last equals sign of a pair separates old and new.

    SettingError if a pair is incomplete, an old name is given twice, or two new names are equal.

    >>> parse_new_names("laminating=Ours, ucb:exploration=0.1=UCB1")
    {'laminating': 'Ours', 'ucb:exploration=0.1': 'UCB1'}
    """
    found: dict[str, str] = {}
    for pair in text.split(","):
        old, _, new = (side.strip() for side in pair.rpartition("="))
        if not (old and new):
            raise SettingError(
                "--rename must be OLD=NEW pairs separated by commas, as in laminating=Ours; "
                f"got {pair.strip()!r}"
            )
        if old in found:
            raise SettingError(f"--rename must name a strategy once, got {old!r} twice")
        if new in found.values():
            raise SettingError(f"--rename must give different new names, got {new!r} twice")
        found[old] = new
    return found


def check_new_names(names: Mapping[str, str], labels: Iterable[str]) -> None:
    """Check the old names of `parse_new_names` against the labels of the results.

    SettingError if an old name is not among them, or a new one is that of another strategy.
    """
    known = list(dict.fromkeys(labels))
    for old, new in names.items():
        if old not in known:
            raise unknown("strategy of these results", old, known)
        if new in known and new not in names:
            raise SettingError(
                f"--rename {old}={new} would give two strategies the name {new!r}; choose another"
            )
