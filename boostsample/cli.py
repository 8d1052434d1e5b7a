"""The command line: results to standard output, progress and messages to standard error.

Importing this module is light; each command imports what it needs when it runs. Every failure is
one line, ``boostsample: error: ...``, and an exit code: 2 for usage (an unknown name, a setting out
of range), 1 for data and files, 130 after Ctrl-C. ``BOOSTSAMPLE_DEBUG=1`` shows the traceback.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boostsample import __version__
from boostsample.errors import BoostSampleError, SettingError, unknown

if TYPE_CHECKING:
    from boostsample.experiments.compare import Comparison
    from boostsample.experiments.tables import Table

__all__ = ["main"]

_USAGE, _DATA, _CTRL_C, _BROKEN_PIPE = 2, 1, 130, 141


class _Group(click.Group):
    """A group whose error for an unknown command lists the known ones."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise unknown("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="boostsample %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Sampling strategies for AdaBoost.MH, compared at an equal budget of looks."""
    if context.invoked_subcommand is None:
        _say(context.get_help())


@cli.command()
@click.option(
    "--data",
    default="digits",
    show_default=True,
    metavar="NAME|PATH",
    help="A named data set (boostsample list data) or an .npz, .csv or .svmlight file.",
)
@click.option(
    "--data-dir", metavar="DIR", help="Folder of original data files; what it lacks is downloaded."
)
@click.option(
    "--strategies",
    multiple=True,
    metavar="A,B:SETTING=VALUE",
    help="Names with settings, separated by commas (boostsample list strategies).  [default: full "
    "where it does not take too long, uniform-naive, uniform-1q, uniform-q1, laminating]",
)
@click.option(
    "--families",
    multiple=True,
    metavar="A,B:SETTING=VALUE",
    help="Feature families (boostsample list families).  [default: all that fit the data]",
)
@click.option(
    "--rounds",
    default="10,100,300",
    show_default=True,
    metavar="N,N,...",
    help="Numbers of stumps at which results are taken; the largest is the number of rounds.",
)
@click.option("--repeats", default=3, show_default=True, metavar="N", help="Repetitions.")
@click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks a search may cost; N is the number of training examples.  [default: 10N, but "
    "for full what it needs]",
)
@click.option(
    "--weights",
    default="uniform",
    show_default=True,
    metavar="uniform|balanced",
    help="Initial label weights.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of splits, families and strategies.",
)
@click.option(
    "--results",
    metavar="DIR",
    help="A new or empty folder for the rows.  [default: results/<data>-<date and time>]",
)
@click.option(
    "--jobs",
    type=int,
    metavar="N",
    help="Threads, -1 for all cores; the rows do not depend on it.  [default: all cores for the "
    "features, then one run at a time so that its seconds are undisturbed]",
)
@click.option("--plot", metavar="FILE", help="Draw the curves into an .svg, .png or .pdf file.")
@click.option("--history", is_flag=True, help="Write a row for each search, too.")
@click.option("--quiet", is_flag=True, help="No progress and no messages but errors.")
@click.pass_context
def compare(
    context: click.Context,
    data: str,
    data_dir: str | None,
    strategies: tuple[str, ...],
    families: tuple[str, ...],
    rounds: str,
    repeats: int,
    budget: str | None,
    weights: str,
    seed: int,
    results: str | None,
    jobs: int | None,
    plot: str | None,
    history: bool,
    quiet: bool,
) -> None:
    """Compare strategies on a data set: loss, test error and looks.

    Without options: scikit-learn's digits, five strategies, three repetitions, 300 rounds. Prints
    the tables and writes the rows that they are made of.
    """
    from boostsample.experiments.progress import Display

    with ExitStack() as stack:
        display = stack.enter_context(Display(quiet))
        display("starting", 0, 0)
        from boostsample.experiments.compare import run
        from boostsample.experiments.datasets import load_dataset
        from boostsample.experiments.plan import Plan, parse_marks, parse_names, prepare
        from boostsample.experiments.plots import check_picture, comparison_figure, save_picture
        from boostsample.experiments.results import ResultsFolder, settings_of

        plan = Plan(
            strategies=parse_names(strategies) if strategies else None,
            families=parse_names(families) if families else None,
            marks=parse_marks(rounds),
            repeats=repeats,
            budget=budget,
            weights=weights,
            seed=seed,
            n_jobs=jobs,
            history=history,
            curves=plot is not None,
        )
        picture = None if plot is None else check_picture(plot)
        folder = stack.enter_context(
            ResultsFolder.new("results", Path(data).name.partition(".")[0])
            if results is None
            else ResultsFolder(results)
        )
        prepared = prepare(load_dataset(data, data_dir=data_dir, seed=seed), plan)
        for note in prepared.notes:
            display.say(note)
        comparison = run(prepared, display)
        display.close()
        settings = {"command": ["boostsample", *context.obj], **settings_of(comparison)}
        try:
            folder.write(comparison.rows, settings, comparison.history if history else None)
        finally:  # whatever becomes of the folder, the tables can be had
            _print_comparison(comparison)
        _say(f"results: {folder.path}")
        if picture is not None:
            save_picture(comparison_figure(comparison), picture)
            _say(f"plot: {picture}")


def _say(text: str) -> None:
    """A line of results; click.echo would write UTF-8 to terminals that cannot read it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _print_comparison(comparison: Comparison) -> None:
    from boostsample.experiments.tables import looks_table, score_table

    prepared, rows = comparison.prepared, comparison.rows
    sizes = sorted({(len(train), len(test)) for train, test in prepared.splits})
    families = ", ".join(f"{f.name} {f.n_features:,}" for f in prepared.families)
    _say(
        f"{prepared.data.name}: {sizes[0][0]:,} training and {sizes[0][1]:,} test examples, "
        f"{prepared.data.n_classes} {'labels' if prepared.data.is_multilabel else 'classes'}, "
        f"{prepared.n_features:,} features ({families}), {prepared.plan.weights} initial weights\n"
    )
    for table in (score_table(rows, "loss"), score_table(rows, "error"), looks_table(comparison)):
        _print_table(table)
    for note in comparison.notes:
        _say(f"note: {note}\n")


def _print_table(table: Table) -> None:
    """A table with lines on a terminal, plain text elsewhere."""
    from boostsample.experiments.tables import to_rich, to_text

    if not sys.stdout.isatty():
        _say(to_text(table) + "\n")
        return
    from rich.console import Console

    console = Console(file=sys.stdout)
    for part in to_rich(table, console.width):
        console.print(part)


@cli.command("list")
@click.argument("kind", required=False, metavar="[strategies|families|data]")
def list_names(kind: str | None) -> None:
    """List the strategies, feature families or data sets that compare knows."""
    kinds = {"strategies": _strategies, "families": _families, "data": _data}
    if kind is not None and kind not in kinds:
        raise unknown("kind of list", kind, kinds)
    for number, name in enumerate(kinds if kind is None else [kind]):
        entries = kinds[name]()
        if kind is None:
            _say(f"{chr(10) if number else ''}{name}:")
        width = max(len(entry) for entry, _ in entries)
        for entry, description in entries:
            _say(f"{'' if kind else '  '}{entry.ljust(width)}  {description}".rstrip())


def _strategies() -> list[tuple[str, str]]:
    """Names and first lines, read from the files: importing them would take seconds."""
    import ast

    from boostsample.registry import STRATEGIES, strategy_names

    entries = []
    for name in strategy_names():
        text = "from another distribution"
        if name in STRATEGIES:
            module = STRATEGIES[name].partition(":")[0]
            path = Path(__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
            text = ""
            with suppress(OSError, SyntaxError):
                text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        entries.append((name, text.partition("\n")[0].rstrip(".")))
    return entries


def _families() -> list[tuple[str, str]]:
    import inspect

    from boostsample import families

    entries = []
    for name in families.__all__:
        member = getattr(families, name)
        if not inspect.isclass(member) or inspect.isabstract(member):
            continue
        parameter = inspect.signature(member).parameters.get("name")
        module = inspect.getdoc(inspect.getmodule(member)) or ""
        if parameter is not None:
            entries.append((str(parameter.default), module.partition("\n")[0].rstrip(".")))
    return entries


def _data() -> list[tuple[str, str]]:
    from boostsample.experiments.datasets import DATASETS

    return [
        (
            name
            + (f"({','.join(f'{k}={v}' for k, v in known.settings.items())})").replace("()", ""),
            known.description,
        )
        for name, known in DATASETS.items()
    ]


def main(args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    args : sequence of str, optional
        Default: those of the process.
    """
    given = list(sys.argv[1:] if args is None else args)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # names that the terminal cannot show are spelled out
            stream.reconfigure(errors="backslashreplace")
    code = _guarded(given)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _of_pipe(error)
    return code


def _guarded(args: list[str]) -> int:
    """Run a command; whatever it raises becomes one line and an exit code."""
    try:
        with cli.make_context("boostsample", list(args), obj=args) as context:
            cli.invoke(context)
        return 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _fail(f"{error.format_message()} See boostsample --help.", _USAGE)
    except (KeyboardInterrupt, click.Abort):
        return _fail("stopped by Ctrl-C", _CTRL_C)
    except BoostSampleError as error:
        return _fail(str(error), _USAGE if isinstance(error, SettingError) else _DATA)
    except OSError as error:
        return _of_pipe(error)
    except MemoryError as error:
        text = f"out of memory ({error}); choose fewer --families or less data"
        return _fail(text.replace(" ()", ""), _DATA)
    except Exception as error:
        return _fail(
            f"unexpected {type(error).__name__}: {error}; this is a fault of boostsample, "
            "BOOSTSAMPLE_DEBUG=1 shows where",
            _DATA,
        )


def _of_pipe(error: OSError) -> int:
    """The end of ``boostsample ... | head`` is silent; other faults of files are told."""
    if not isinstance(error, BrokenPipeError):
        place = f"'{error.filename}'" if error.filename else "standard output"
        code = _fail(f"{place} cannot be used: {error.strerror or error}", _DATA)
    else:
        code = _BROKEN_PIPE
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would try again at exit, and complain
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def _fail(message: str, code: int) -> int:
    """Tell of an error in one line; the traceback only when it is asked for."""
    with suppress(OSError):
        if os.environ.get("BOOSTSAMPLE_DEBUG", "") not in ("", "0"):
            traceback.print_exc()
        sys.stderr.write(f"boostsample: error: {' '.join(message.split())}\n")
        sys.stderr.flush()
    return code
