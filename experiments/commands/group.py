"""A command group whose error for an unknown command lists the known ones."""

from __future__ import annotations

import click

from boostsample.errors import unknown

__all__ = ["CommandGroup"]


class CommandGroup(click.Group):
    """Group of commands that lists them if the user names an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raise SettingError if it is unknown."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise unknown("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)
