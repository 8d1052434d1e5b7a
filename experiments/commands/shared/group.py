"""A command group that lists its commands with whole summaries, also if one is unknown."""

from __future__ import annotations

import click

from boostsample.errors import unknown

_WHOLE = 1000  # characters of a summary


class CommandGroup(click.Group):
    """Group of commands that lists them if the user names an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raise SettingError if it is unknown."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise unknown("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of each command; click would cut it to one line."""
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows))
