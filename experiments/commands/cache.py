"""The command `boostsample cache`: list, verify and remove feature banks on disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from boostsample.errors import DataError, SettingError
from boostsample.experiments.commands.shared.options import CommandGroup
from boostsample.experiments.commands.shared.printing import print_line

if TYPE_CHECKING:
    from boostsample.banks.cache_folder import CacheEntry

_SHORT = 12  # displayed characters of a key; commands take any unambiguous beginning of it


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def cache(context: click.Context) -> None:
    """List, check or remove the feature banks of `--bank disk`.

    Without a command: lists the banks with their data and families, the last used one first.
    """
    if context.invoked_subcommand is None:
        _list()


@cache.command("clear")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("--all", "everything", is_flag=True, help="All banks, and unfinished ones.")
def clear_cache(keys: tuple[str, ...], everything: bool) -> None:
    """Remove feature banks by the beginnings of their keys; running programs keep theirs."""
    from boostsample.banks.cache_folder import (
        cache_entries,
        cache_entry_size,
        find_cache_entries,
        remove_from_cache,
        unfinished_in_cache,
    )

    if bool(keys) == everything:
        raise SettingError(
            "name the keys of the banks to remove (see 'boostsample cache'), or give --all"
        )
    banks = cache_entries() if everything else find_cache_entries(keys)
    stale, fresh = unfinished_in_cache() if everything else ([], [])
    freed = 0
    for folder in [*(bank.folder for bank in banks), *stale]:
        size = cache_entry_size(folder)
        try:
            remove_from_cache(folder)
        except OSError as error:
            raise DataError(
                f"'{folder}' cannot be removed: {error.strerror or error}; {_gib(freed)} freed"
            ) from error
        freed += size
    print_line(f"removed: {_number(banks)}, {_gib(freed)}")
    for folder in fresh:
        print_line(f"kept, because it was written to in the last hour: {folder}")


@cache.command("verify")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
def verify_cache(keys: tuple[str, ...]) -> None:
    """Compare every byte of the feature banks, by default all of them, with the checksums.

    Ends with exit code 1 if a bank is damaged. Training checks only the features that it reads.
    """
    from boostsample.banks.cache_folder import DamagedBank, cache_entries, find_cache_entries
    from boostsample.banks.disk import check_disk_bank

    banks = find_cache_entries(keys) if keys else cache_entries()
    damaged = []
    for bank in banks:
        key, state = bank.key[:_SHORT], "good"
        try:
            check_disk_bank(bank.folder)
        except DamagedBank as error:
            damaged.append(key)
            state = f"damaged: {error}"
        print_line(f"{key}  {state}")
    if damaged:
        raise DataError(
            f"{_number(damaged)} of {len(banks)} damaged; remove with "
            f"'boostsample cache clear {' '.join(damaged)}', the next run rebuilds what it needs"
        )


def _list() -> None:
    from boostsample.banks.cache_folder import (
        banks_dir,
        cache_entries,
        cache_entry_size,
        unfinished_in_cache,
    )

    banks = cache_entries()
    header = ("key", "data", "features x examples", "size", "last used", "families")
    rows = [header, *map(_row, banks)] if banks else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        fields = (field.ljust(width) for field, width in zip(row, widths, strict=True))
        print_line("  ".join(fields).rstrip())
    print_line(f"{_number(banks)}, {_gib(sum(bank.size for bank in banks))}, in {banks_dir()}")
    stale, fresh = unfinished_in_cache()
    if stale or fresh:
        left = sum(cache_entry_size(folder) for folder in [*stale, *fresh])
        print_line(
            f"{len(stale) + len(fresh)} unfinished, {_gib(left)}: being built, or left by a run "
            "that was killed (remove with 'boostsample cache clear --all')"
        )


def _row(bank: CacheEntry) -> tuple[str, ...]:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(bank.last_used))
    if bank.problem:
        return bank.key[:_SHORT], "?", "?", _gib(bank.size), used, f"damaged: {bank.problem}"
    header = bank.header
    families = ", ".join(f"{f['name']} {f['n_features']:,}" for f in header["families"])
    most = max(shutil.get_terminal_size((200, 24)).columns // 2, 40)
    return (
        bank.key[:_SHORT],
        header["name"] or "-",
        f"{header['n_features']:,} x {header['n_examples']:,}",
        _gib(bank.size),
        used,
        families if len(families) <= most else f"{families[: most - 3]}...",
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 // 10 else f"{size / 2**20:.2f} MiB"


def _number(banks: Sequence[object]) -> str:
    return f"{len(banks)} feature bank{'' if len(banks) == 1 else 's'}"
