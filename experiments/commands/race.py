"""`boostsample race`: seconds to a given test error, beside other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from boostsample.errors import SettingError
from boostsample.experiments.commands.output import print_table, say

if TYPE_CHECKING:
    from boostsample.experiments.plan.plan import Plan
    from boostsample.experiments.race.peers import Method
    from boostsample.experiments.race.runs import Race

__all__ = ["race"]

_STRATEGIES = "uniform-naive,uniform-q1,laminating"


@click.command()
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
    "--columns",
    type=int,
    metavar="N",
    help="Columns, drawn uniformly from all features of the default families.  [default: 2000, or "
    "all if there are fewer]",
)
@click.option(
    "--error",
    default=1.5,
    show_default=True,
    metavar="PERCENT",
    help="The test error to reach.",
)
@click.option(
    "--strategies",
    default=_STRATEGIES,
    show_default=True,
    metavar="A,B:SETTING=VALUE",
    help="Strategies (boostsample list strategies); ratios are to the first.",
)
@click.option(
    "--peers",
    metavar="A,B:SETTING=VALUE|VALUE",
    help="lightgbm, xgboost, hist-gradient-boosting, adaboost, or none; with settings in place of "
    "their own, or several values to try.  [default: all that are installed]",
)
@click.option(
    "--grid", is_flag=True, help="Try all values of the peers' grids, not just the first of each."
)
@click.option(
    "--limit",
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="A run that takes longer is given up.",
)
@click.option(
    "--rounds", default=10_000, show_default=True, metavar="N", help="Iterations at most."
)
@click.option(
    "--repeats",
    default=3,
    show_default=True,
    metavar="N",
    help="Runs of each method's best settings; tables show their median.",
)
@click.option(
    "--jobs",
    default=-1,
    metavar="N",
    help="Threads of every method.  [default: all cores]",
)
@click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks a search of the strategies may cost; N is the number of training examples.  "
    "[default: 10N, but for full what it needs]",
)
@click.option(
    "--weights",
    default="balanced",
    show_default=True,
    metavar="uniform|balanced",
    help="Initial label weights of the strategies.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of columns, split and methods.",
)
@click.option("--json", metavar="FILE", help="Write all runs, with their curves, into a new file.")
@click.option("--show", metavar="FILE", help="Run nothing: print the tables of such a file.")
@click.option("--quiet", is_flag=True, help="No progress and no messages but errors.")
@click.pass_context
def race(
    context: click.Context,
    data: str,
    data_dir: str | None,
    columns: int | None,
    error: float,
    strategies: str,
    peers: str | None,
    grid: bool,
    limit: float,
    rounds: int,
    repeats: int,
    jobs: int,
    budget: str | None,
    weights: str,
    seed: int,
    json: str | None,
    show: str | None,
    quiet: bool,
) -> None:
    """Time to a given test error, strategies beside LightGBM, XGBoost and scikit-learn.

    All get the same columns as one float32 matrix. Building bins or the data set counts, computing
    the columns and taking test errors does not. Of several settings of a peer those count that are
    best on the test rows.
    """
    if show is not None:
        _show(context, show)
        return
    from boostsample.experiments.common.progress import Display

    with Display(quiet) as display:
        display("starting", 0, 0)
        from boostsample.experiments.common.files import check_file
        from boostsample.experiments.data.datasets import load_dataset
        from boostsample.experiments.race import race as peer_race
        from boostsample.experiments.race import runs as peer_runs
        from boostsample.experiments.race import tables as peer_tables
        from boostsample.experiments.race.job import make_job
        from boostsample.threads.threads import n_threads

        rules = peer_runs.Rules(error, limit, repeats, seed)
        plan = _plan(strategies, rounds, budget, weights, seed)
        methods, notes = _methods(plan, peers, grid)
        target = None if json is None else check_file(json, ".json", "runs")
        threads = n_threads(jobs)
        job = make_job(
            load_dataset(data, data_dir=data_dir, seed=seed),
            columns,
            seed=seed,
            n_jobs=threads,
            n_rounds=rounds,
            progress=display,
        )
        found = peer_race.race(job, methods, rules, display)
        display.close()
        facts = peer_tables.facts_of(
            found,
            data=job.name,
            n_train=int(job.y_train.size),
            n_test=int(job.y_test.size),
            n_classes=job.n_classes,
            columns=job.n_columns,
            jobs=threads,
            rounds=rounds,
            budget=budget,
            weights=weights,
            notes=notes,
        )
        _print(found, facts)
        if target is not None:
            peer_tables.write_race(facts, target)
            say(f"runs: {target}")


def _plan(strategies: str, rounds: int, budget: str | None, weights: str, seed: int) -> Plan:
    """The strategies with their options, checked."""
    from boostsample.experiments.plan.plan import Plan, parse_names
    from boostsample.experiments.plan.variants import Alternatives

    wanted = parse_names(strategies)
    for variant in wanted:
        for setting, value in variant.settings.items():
            if isinstance(value, Alternatives):
                raise SettingError(
                    f"{variant.name}: {setting}={value} are alternatives, but settings of "
                    "strategies are not searched in a race; name the strategy once for each value"
                )
    return Plan(
        strategies=wanted, marks=(rounds,), repeats=1, budget=budget, weights=weights, seed=seed
    )


def _methods(plan: Plan, peers: str | None, grid: bool) -> tuple[list[Method], list[str]]:
    """Who takes part, and what is to be said about it."""
    from boostsample.experiments.plan.variants import Variant, parse_names
    from boostsample.experiments.race.peers import PEERS, installed, peer, strategy

    methods = [strategy(variant, plan) for variant in plan.variants]
    if peers is None:
        missing = [name for name in PEERS if not installed(name)]
        methods += [peer(Variant(name), full_grid=grid) for name in PEERS if name not in missing]
        notes = [
            f"{name} is left out, since it is not installed; pip install 'boostsample[peers]' "
            "brings it"
            for name in missing
        ]
        return methods, notes
    if peers != "none":
        methods += [peer(variant, full_grid=grid) for variant in parse_names(peers)]
    return methods, []


def _print(found: Race, facts: dict[str, Any]) -> None:
    from boostsample.experiments.race import tables as peer_tables

    options = facts["settings"]
    say(
        f"{options['data']}: {options['n_train']:,} training and {options['n_test']:,} test "
        f"examples, {options['n_classes']} classes, {options['columns']:,} columns; threads: "
        f"{options['jobs']}; {options['weights']} initial weights of the strategies\n"
    )
    print_table(peer_tables.result_table(found))
    chosen = peer_tables.settings_table(found)
    if chosen is not None:
        print_table(chosen)
    print_table(peer_tables.curve_table(found))
    for table in peer_tables.grid_tables(found):
        print_table(table)
    for note in (*options["notes"], peer_tables.busy_note(found)):
        if note:
            say(f"note: {note}\n")


def _show(context: click.Context, path: str) -> None:
    """Print a file; options of a race have no meaning then and are refused."""
    from click.core import ParameterSource

    given = [
        name
        for name in context.params
        if name not in ("show", "quiet")
        and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise SettingError(f"--show runs nothing, but {options} is for a race; leave it out")
    from boostsample.experiments.race.tables import read_race

    found, facts = read_race(path)
    _print(found, facts)
