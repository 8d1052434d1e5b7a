"""Options that several commands share, also those of the layout of pictures; groups of commands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from boostsample.errors import SettingError, unknown
from boostsample.names import split_names

Command = Callable[..., Any]
if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:  # takes no parameters before click 8.4
    _ParamType = click.ParamType

data_option = click.option(
    "--data",
    default="digits",
    metavar="NAME|FILE:OPTION=VALUE",
    help="A named data set (boostsample list data), a function as in my_file.py:points, or a CSV, "
    "TSV, Parquet, .npz or svmlight file with options as in x.csv:label=target:drop=ID.",
)
data_dir_option = click.option(
    "--data-dir", metavar="DIR", help="Folder of original data files; missing ones are downloaded."
)
families_option = click.option(
    "--families",
    multiple=True,
    metavar="A,B:SETTING=VALUE",
    help="Feature families (boostsample list families).  [default: all that fit the data]",
)
drop_option = click.option(
    "--drop", multiple=True, metavar="COLUMN", help="A column to leave out; may be repeated."
)
category_option = click.option(
    "--category",
    multiple=True,
    metavar="COLUMN",
    help="A column of codes such as 01, whose values are categories; may be repeated.",
)
column_groups_option = click.option(
    "--families", metavar="prefix|dtype", help="Group the columns by name or type into families."
)
class_weight_option = click.option(
    "--class-weight", metavar="balanced", help="Give each class the same weight."
)


def _looks(_context: Any, _option: Any, value: str | None) -> int | None:
    from boostsample.experiments.plan.plan import whole_number

    return None if value is None else whole_number("max_looks", value)


class _Values(_ParamType):
    """Values of an option, separated by commas: a tuple."""

    name = "values"

    def __init__(self, kind: _ParamType) -> None:
        self._kind = kind

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        texts = split_names(str(value))
        return tuple(self._kind.convert(text, param, ctx) for text in texts)


def axis(option: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """The decorator of an option that takes several values, which make an axis of a grid."""

    def decorate(command: Command) -> Command:
        command = option(command)
        parameter: click.Option = vars(command)["__click_params__"][-1]
        parameter.type = _Values(parameter.type)
        parameter.metavar = f"{parameter.metavar},..."
        return command

    return decorate


learner_option = click.option(
    "--learner",
    default="stump",
    metavar="NAME:SETTING=VALUE",
    help="Weak learner of each round (boostsample list learners).",
)
budget_option = click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks per search, at least N, the number of training examples; 10N:growing from 5 N to "
    "15 N over the rounds, 10N:shrinking back.  [default: 10N; for full, what it needs]",
)
weights_option = click.option(
    "--weight-init",
    "--weights",
    "weights",
    default="balanced",
    metavar="balanced|uniform",
    help="Initial label weights; uniform are those of [DF11].",
)
learning_rate_option = click.option(
    "--learning-rate",
    type=float,
    default=1.0,
    metavar="NU",
    help="Step size: what alpha is multiplied by, above 0 and at most 1. Below 1, training goes on "
    "after an edge of 1.",
)
smoothing_option = click.option(
    "--smoothing",
    type=float,
    default=0.0,
    metavar="S",
    help="Smooth alpha by S mean examples, at least 0: 0.01 in MultiBoost. Above 0, training goes "
    "on after an edge of 1.",
)
objective_option = click.option(
    "--objective",
    default="mh",
    metavar="NAME:SETTING=VALUE",
    help="What is boosted (boostsample list objectives); mh is discrete AdaBoost.MH.",
)
code_option = click.option(
    "--code",
    default="one-vs-rest",
    metavar="one-vs-rest|binary|exhaustive|dense[:BITS]|sparse[:BITS]",
    help="Output code, whose bits are boosted in place of the classes (docs/codes.md).",
)
decoding_option = click.option(
    "--decoding",
    default="loss",
    metavar="loss|hamming",
    help="How scores of the bits of --code become scores of classes.",
)
max_seconds_option = click.option(
    "--max-seconds",
    type=float,
    metavar="S",
    help="Seconds at which a training ends, after a whole round, with the rounds so far; how many "
    "there are depends on the machine.  [default: no limit]",
)
max_looks_option = click.option(
    "--max-looks",
    metavar="LOOKS",
    callback=_looks,
    help="Looks, as in 1e9, of search and modelling at which a training ends, after a whole round; "
    "the same rounds everywhere.  [default: no limit]",
)
max_cost_option = click.option(
    "--max-cost",
    type=float,
    metavar="S",
    help="Nominal seconds of training, the column cost, that a run must not pass: its last round "
    "is the last one within; the same rounds everywhere.  [default: no limit]",
)
seed_option = click.option("--seed", default=0, metavar="N", help="Seed of all random choices.")
plot_option = click.option(
    "--plot", metavar="FILE", help="Plot the curves to an .svg, .png or .pdf file."
)
quiet_option = click.option("--quiet", is_flag=True, help="Print results and errors only.")
uncharged_option = click.option(
    "--uncharged", is_flag=True, help="Leave out tuned strategies that pay for their tuning."
)


def format_option(names: str, described: str) -> Callable[[Command], Command]:
    """The decorator of the option for the format of tables."""
    return click.option(
        "--format",
        "form",
        metavar=names,
        help=f"{described}.  [default: by the ending of -o, else text]",
    )


def check_data_dir(data_dir: str | None, scores_anew: bool) -> None:
    """SettingError if a folder of data files is given to a command that reads none of them."""
    if data_dir is not None and not scores_anew:
        raise SettingError(
            "--data-dir is for a metric of a file, which scores the models again, got "
            f"{data_dir!r} without one; leave it out, or set --metric FILE.py:NAME"
        )


def given_options(context: click.Context, name: str) -> bool:
    """Whether the user gave a parameter."""
    return context.get_parameter_source(name) is not ParameterSource.DEFAULT


_WRITTEN = {
    "output": "-o",
    "picture": "--picture",
    "plot": "--plot",
    "csv": "--csv",
    "figure2": "--figure2",
}
"""Options that name a file to write, by parameter."""


def overwrite_option(command: Command) -> Command:
    """Add --overwrite to a command; SettingError if no file to replace is named."""

    @functools.wraps(command)
    def run(*args: Any, **params: Any) -> Any:
        files = [f"{option} FILE" for name, option in _WRITTEN.items() if name in params]
        if params["overwrite"] and not any(params.get(name) for name in _WRITTEN):
            raise SettingError(
                f"--overwrite needs a file to replace; add {' or '.join(files)}, or leave it out"
            )
        return command(*args, **params)

    return click.option(
        "--overwrite", is_flag=True, help="Replace files of these names that exist."
    )(run)


_FILES = ("output", "plot", "figure2")  # parameters that name the file of a picture
_OPTIONS = (
    click.option(
        "--size",
        metavar="WxH|one-column|two-columns",
        help="Size in inches, as in 3.3x2.4, or the width alone; one-column is 3.25 inches, "
        "two-columns 6.75.  [default: fits a screen]",
    ),
    click.option(
        "--font-size", type=float, metavar="POINTS", help="[default: 10, or 8 with --size]"
    ),
    click.option("--dpi", type=int, metavar="N", help="Resolution of a .png file.  [default: 150]"),
    click.option("--title", metavar="TEXT", help="Title of the picture."),
    click.option(
        "--without",
        metavar="title,labels,legend,notes",
        help="Leave out the title, the titles of axes, the legend or the notes below.",
    ),
)
LAYOUT = ("size", "font_size", "dpi", "title", "without")
"""Names of the parameters."""


def layout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which then runs under the layout that they describe."""

    @functools.wraps(command)
    def run(*args: Any, **params: Any) -> Any:
        layout = {name: value for name in LAYOUT if (value := params.pop(name)) is not None}
        if not layout:
            return command(*args, **params)
        if not any(params.get(name) for name in _FILES):
            option = next(iter(layout)).replace("_", "-")
            raise SettingError(f"--{option} is for a picture, but none is drawn; add --plot FILE")
        from boostsample.experiments.plots.drawing import (
            Layout,
            parse_parts,
            parse_size,
            using_layout,
        )

        for name, parse in (("size", parse_size), ("without", parse_parts)):
            if name in layout:
                layout[name] = parse(layout[name])
        with using_layout(Layout(**layout)):
            return command(*args, **params)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


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
        rows = [
            (name, command.get_short_help_str(_WHOLE)) for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows))
