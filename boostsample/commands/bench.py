"""`boostsample bench`: what looks and rounds cost on this machine."""

from __future__ import annotations

import click

from boostsample.commands.output import print_table, say
from boostsample.errors import SettingError

__all__ = ["bench"]


@click.command()
@click.option(
    "--data",
    metavar="NAME|PATH",
    help="Time the rounds on a data set with its families.  [default: made data, 60,000 examples, "
    "10 labels, 2,000 features]",
)
@click.option("--data-dir", metavar="DIR", help="Folder of original data files.")
@click.option(
    "--strategies",
    metavar="A,B",
    help="Names, separated by commas.  [default: all but full]",
)
@click.option("--rounds", default=200, show_default=True, metavar="N", help="Rounds to time.")
@click.option("--growth", is_flag=True, help="Also time rounds from 10,000 to 2,000,000 examples.")
@click.option("--quiet", is_flag=True, help="No progress and no messages but errors.")
def bench(
    data: str | None,
    data_dir: str | None,
    strategies: str | None,
    rounds: int,
    growth: bool,
    quiet: bool,
) -> None:
    """Time looks and rounds, one thread, in ratios of this run.

    Strategies take turns round by round. A round's parts: what the strategy does of its own, its
    draws, its searches, its modelling, and the loop's finish.
    """
    if rounds < 1:
        raise SettingError(f"rounds must be at least 1, got {rounds}")
    from boostsample.experiments.progress import Display
    from boostsample.registry import make_strategy, strategy_names

    names = [n for n in strategy_names() if n != "full"]
    if strategies is not None:
        names = [name.strip() for name in strategies.split(",")]
    for name in names:
        make_strategy(name)
    with Display(quiet) as display:
        display("starting", 0, 0)
        from boostsample.experiments import bench as timing

        if data is None:
            problem = timing.made_problem(60_000, 2_000, 10)
        else:
            import numpy as np

            from boostsample.bank import FeatureBank
            from boostsample.experiments.datasets import load_dataset
            from boostsample.labels import encode
            from boostsample.registry import default_families

            loaded = load_dataset(data, data_dir=data_dir)
            train, _ = loaded.split(0, 0)
            families = default_families(loaded.X.shape[1:], column_names=loaded.columns)
            bank = FeatureBank.build(families, loaded.X[train], n_jobs=-1)
            labels = encode(loaded.y[train], loaded.n_classes)
            problem = timing.Problem(bank, np.arange(len(train)), labels)
        looks = []
        for number, n_labels in enumerate((2, 10, 26, 100)):
            display("looks", number, 4)
            looks.append(timing.time_looks(60_000, 10, n_labels))
            looks.append(timing.time_looks(60_000, 250, n_labels, sample=1_000, searches=10))
        times = timing.time_rounds(problem, names, rounds, display)
        grown = None
        if growth:
            sizes = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)
            grown = timing.growth_table(sizes, 15, display)
    say(
        f"rounds on {data or 'made data'}: {len(problem.rows):,} examples, "
        f"{problem.Y.shape[1]} labels, {problem.bank.n_features:,} features, one thread\n"
    )
    print_table(timing.looks_table(looks))
    print_table(timing.rounds_table(times))
    if grown is not None:
        print_table(grown)
