"""The command line `boostsample`.

Results go to standard output, progress and messages to standard error. Every failure is one line,
``boostsample: error: ...``, and an exit code: 2 for usage (an unknown name, a setting out of
range), 1 for data and files, 130 after Ctrl-C, 128 and the number of the signal after SIGTERM and
SIGHUP. ``BOOSTSAMPLE_DEBUG=1`` shows the traceback. If standard output is closed or full, a command
does its work and then ends with an error; what standard error cannot take is dropped.

Importing this module is light: each command imports what it needs when it runs.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any

import click

from boostsample import __version__
from boostsample.errors import BoostSampleError, SettingError
from boostsample.experiments.commands.cache import cache
from boostsample.experiments.commands.calibrate import calibrate
from boostsample.experiments.commands.compare import compare
from boostsample.experiments.commands.folders import report, table, validate
from boostsample.experiments.commands.listing import list_names
from boostsample.experiments.commands.models import evaluate, explain, fit, predict
from boostsample.experiments.commands.plot import plot
from boostsample.experiments.commands.select import select
from boostsample.experiments.commands.shared.options import CommandGroup
from boostsample.experiments.commands.shared.printing import print_line
from boostsample.experiments.common.streams import EscapedStream, GuardedStream, open_closed_files
from boostsample.loop.interrupts import Stopped, stopping_signals

_USAGE, _DATA, _SIGNAL, _CTRL_C, _BROKEN_PIPE = 2, 1, 128, 130, 141


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="boostsample %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compare sampling strategies for AdaBoost.MH at an equal budget of looks."""
    if context.invoked_subcommand is None:
        print_line(context.get_help())


for _command in (
    cache,
    calibrate,
    compare,
    evaluate,
    explain,
    fit,
    list_names,
    plot,
    predict,
    report,
    select,
    table,
    validate,
):
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> int:
    """Run a command, by default that of the process; return its exit code."""
    open_closed_files()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    out, err = GuardedStream(sys.stdout), GuardedStream(sys.stderr)
    outside: Any = EscapedStream(out), EscapedStream(err)
    form, warnings.formatwarning = warnings.formatwarning, _one_line_warning
    with redirect_stdout(outside[0]), redirect_stderr(outside[1]), stopping_signals():
        code = _guarded(list(sys.argv[1:] if args is None else args))
        out.flush()
        err.flush()
        if out.fault is not None and code == 0:
            code = _output_failed(out.fault)
    warnings.formatwarning = form
    for stream, guard in ((sys.stdout, out), (sys.stderr, err)):
        if stream is not None and guard.fault is not None:
            with suppress(OSError, ValueError):  # Python would flush at exit, and print a traceback
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def _one_line_warning(message: Warning | str, *_: object, **__: object) -> str:
    """A warning without the place in the code, which says nothing to users of a command."""
    return f"note: {' '.join(str(message).split())}\n"


def _guarded(args: list[str]) -> int:
    try:
        with cli.make_context("boostsample", list(args), obj=args) as context:
            cli.invoke(context)
        return 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        at: Any = getattr(error, "ctx", None)
        command = "boostsample" if at is None else at.command_path
        return _fail(f"{error.format_message()} See {command} --help.", _USAGE)
    except Stopped as stop:
        return _fail(f"stopped by {stop}", _SIGNAL + stop.number)
    except (KeyboardInterrupt, click.Abort):
        return _fail("stopped by Ctrl-C", _CTRL_C)
    except BoostSampleError as error:
        return _fail(str(error), _USAGE if isinstance(error, SettingError) else _DATA)
    except OSError as error:
        place = f"'{error.filename}'" if error.filename else "a file or a connection"
        return _fail(f"{place} cannot be used: {error.strerror or error}", _DATA)
    except MemoryError as error:
        text = f"out of memory ({error}); choose fewer --families or less data"
        return _fail(text.replace(" ()", ""), _DATA)
    except Exception as error:
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return _fail(
                "no thread can be started: memory or the number of processes is at its limit "
                "(ulimit -v, ulimit -u); raise it",
                _DATA,
            )
        fault, place = f"{type(error).__name__}: {error}", _foreign_place(error)
        if place:
            fault = f"{place} raised {fault}; correct it"
        else:
            fault = f"unexpected {fault}; this is a bug in boostsample"
        return _fail(f"{fault}, BOOSTSAMPLE_DEBUG=1 shows where", _DATA)


def _foreign_place(error: Exception) -> str:
    """Module and line of foreign code that an error comes from; empty if it is only ours."""
    from boostsample.hashing import SOURCE
    from boostsample.registry import foreign_entries

    kinds = ("strategy", "family", "learner")
    foreign = {entry.place.partition(":")[0] for kind in kinds for entry in foreign_entries(kind)}
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        module = str(frame.f_globals.get("__name__"))
        if module in foreign or SOURCE in frame.f_globals:
            return f"{module}, line {line}, {frame.f_code.co_name}()"
    return ""


def _output_failed(fault: OSError) -> int:
    """Report what standard output lost; a closed pipe, as in ``... | head``, needs no words."""
    if isinstance(fault, BrokenPipeError):
        return _BROKEN_PIPE
    return _fail(
        f"standard output cannot be used: {fault.strerror}; what should be printed there is lost, "
        "files that were to be written are complete",
        _DATA,
    )


def _fail(message: str, code: int) -> int:
    if os.environ.get("BOOSTSAMPLE_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    sys.stderr.write(f"boostsample: error: {' '.join(message.split())}\n")
    sys.stderr.flush()
    return code
