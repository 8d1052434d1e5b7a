"""The command `boostsample race`: times strategies and other libraries to a test error."""

from __future__ import annotations

from typing import Any

import click

from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_table

_STRATEGIES = "uniform-naive,uniform-q1,laminating"


@click.command(context_settings={"show_default": True})
@options.data_option
@options.data_dir_option
@click.option("--columns", type=int, metavar="N", help="Columns to draw.  [default: 2000 or fewer]")
@click.option("--error", default=1.5, metavar="PERCENT", help="The test error to reach.")
@click.option("--strategies", default=_STRATEGIES, metavar="A,B", help="Ratios are to the first.")
@click.option("--peers", metavar="A,B", help="Other libraries, or none.  [default: all installed]")
@click.option("--limit", default=60.0, metavar="SECONDS", help="Stop a run after this time.")
@click.option("--rounds", default=10_000, metavar="N", help="Iterations at most.")
@click.option("--repeats", default=3, metavar="N", help="Runs of each; the table has their median.")
@click.option("--jobs", default=-1, metavar="N", help="Threads of every method; -1 is all cores.")
@options.learner_option
@options.budget_option
@options.weights_option
@options.seed_option
@click.option(
    "--json", metavar="FILE", help="Write all runs, with their curves, into a .json file."
)
@options.overwrite_option
@options.quiet_option
def race(
    peers: str | None,
    jobs: int,
    rounds: int,
    seed: int,
    json: str | None,
    overwrite: bool,
    quiet: bool,
    **rest: Any,
) -> None:
    """Time strategies and other libraries to a given test error.

    All methods train on the same columns, drawn from the default families, as one float32 matrix.
    Times include binning, but not the computation of the columns and of test errors. Peers are
    lightgbm, xgboost, hist-gradient-boosting and adaboost; settings follow a name, as in
    lightgbm:num_leaves=63:learning_rate=0.1.
    """
    from boostsample.experiments.common.progress import ProgressDisplay

    with ProgressDisplay(quiet) as display:
        display("starting", 0, 0)
        from boostsample.experiments.data.datasets import load_dataset
        from boostsample.experiments.plan.plan import Plan
        from boostsample.experiments.plan.variants import Variant
        from boostsample.experiments.race import peers as others
        from boostsample.experiments.race import race as timing
        from boostsample.files.atomic import check_writable_file
        from boostsample.threads.threads import n_threads

        rules = timing.RaceRules(rest["error"], rest["limit"], rest["repeats"], seed)
        charged = {name: rest[name] for name in ("learner", "budget", "weights")}
        strategies = timing.race_variants(rest["strategies"])
        plan = Plan(strategies=strategies, marks=(rounds,), repeats=1, seed=seed, **charged)
        wanted = timing.race_variants(peers) if peers not in (None, "none") else ()
        missing = []
        if peers is None:
            missing = [name for name in others.PEERS if not others.peer_installed(name)]
            wanted = tuple(Variant(name) for name in others.PEERS if name not in missing)
        methods = [timing.strategy_race_method(variant, plan) for variant in plan.variants]
        methods += map(others.peer_method, wanted)
        target = None
        if json is not None:
            target = check_writable_file(json, ".json", "runs", overwrite=overwrite)
        threads = n_threads(jobs)
        display("computing columns", 0, 0)
        data = load_dataset(rest["data"], data_dir=rest["data_dir"], seed=seed)
        job = timing.make_race_job(data, rest["columns"], seed)
        job = job._replace(n_jobs=threads, n_rounds=rounds)
        runs = timing.race(job, methods, rules, display)
    n_train, n_columns = job.X_train.shape
    print_line(
        f"{job.name}: {n_train:,} training and {job.y_test.size:,} test examples, {job.n_classes} "
        f"classes, {n_columns:,} columns; threads: {threads}; {plan.weights} initial weights of "
        "the strategies\n"
    )
    print_table(timing.race_table(runs, rules))
    for name in missing:
        print_line(
            f"note: {name} is not installed and left out; pip install 'boostsample[peers]'\n"
        )
    if target is not None:
        facts = {"data": job.name, "n_train": n_train, "n_test": int(job.y_test.size)}
        facts |= {"n_classes": job.n_classes, "columns": n_columns, "jobs": threads}
        timing.write_race(runs, rules, target, **facts, rounds=rounds, **charged)
        print_line(f"runs: {target}")
