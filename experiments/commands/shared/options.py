"""Options that several commands share."""

from __future__ import annotations

import click
from click.core import ParameterSource

data_option = click.option(
    "--data",
    default="digits",
    metavar="NAME|FILE:OPTION=VALUE",
    help="A named data set (boostsample list data), or a CSV, TSV, Parquet, .npz or svmlight file "
    "with options as in x.csv:label=target:drop=ID.",
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
learner_option = click.option(
    "--learner",
    default="stump",
    metavar="NAME:SETTING=VALUE",
    help="Weak learner of each round (boostsample list learners).",
)
budget_option = click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks per search, at least N, the number of training examples.  [default: 10N; for full, "
    "what it needs]",
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
seed_option = click.option("--seed", default=0, metavar="N", help="Seed of all random choices.")
plot_option = click.option(
    "--plot", metavar="FILE", help="Plot the curves to an .svg, .png or .pdf file."
)
overwrite_option = click.option(
    "--overwrite", is_flag=True, help="Replace files of these names that exist."
)
quiet_option = click.option("--quiet", is_flag=True, help="Print results and errors only.")


def given_options(context: click.Context, name: str) -> bool:
    """Whether the user gave a parameter."""
    return context.get_parameter_source(name) is not ParameterSource.DEFAULT
