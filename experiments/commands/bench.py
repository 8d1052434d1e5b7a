"""`boostsample bench`: what looks, rounds and banks cost on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostsample.errors import BoostSampleError, SettingError
from boostsample.experiments.commands.output import print_table, say

if TYPE_CHECKING:
    from boostsample.experiments.bench.ratios import Section
    from boostsample.experiments.bench.regression import Comparison, Reference

__all__ = ["bench"]


@click.command()
@click.option(
    "--only",
    metavar="A,B",
    help="Sections: looks, bounds, finish, rounds, growth, threads, bank, start.  [default: all "
    "but start]",
)
@click.option("--all", "everything", is_flag=True, help="All sections; start takes a minute.")
@click.option(
    "--data",
    metavar="NAME|PATH",
    help="A data set with its families for looks, bounds, finish and rounds.  [default: made "
    "data, 60,000 examples, 10 classes, 2,000 features]",
)
@click.option("--data-dir", metavar="DIR", help="Folder of original data files.")
@click.option(
    "--strategies",
    metavar="A,B",
    help="Strategies of rounds, separated by commas.  [default: all but full]",
)
@click.option("--rounds", type=int, metavar="N", help="Rounds of each strategy.  [default: 200]")
@click.option(
    "--jobs", type=int, metavar="N", help="Threads of the section threads.  [default: all cores]"
)
@click.option("--plot", metavar="FILE", help="Draw growth into an .svg, .png or .pdf file.")
@click.option("--json", metavar="FILE", help="Write all numbers into a new .json file.")
@click.option(
    "--reference",
    metavar="FILE",
    help="Compare with the ratios of this file.  [default: those that ship with boostsample]",
)
@click.option(
    "--keep",
    metavar="FILE",
    help="Time everything three times, and write the ratios into a .json file as a reference.",
)
@click.option("--fail-on-regression", is_flag=True, help="Exit with code 1 if a ratio is worse.")
@click.option("--quiet", is_flag=True, help="No progress and no messages but errors.")
@click.pass_context
def bench(
    context: click.Context,
    only: str | None,
    everything: bool,
    data: str | None,
    data_dir: str | None,
    strategies: str | None,
    rounds: int | None,
    jobs: int | None,
    plot: str | None,
    json: str | None,
    reference: str | None,
    keep: str | None,
    fail_on_regression: bool,
    quiet: bool,
) -> None:
    """Time looks, rounds and banks on this machine, beside the bounds that it sets.

    Costs are compared, as ratios of this run, with those of a reference. Strategies and sizes take
    turns, since other work on the machine must hit all of them alike; leave it alone meanwhile.

    \b
    looks   nanoseconds a look, and the share of its bound
    bounds  vector stores, memory, and the reads of laminating
    finish  nanoseconds an example of the passes over all weights
    rounds  milliseconds a round of every strategy, and its parts
    growth  cost as N, Q, T and K grow, with slopes
    threads what several threads gain over one
    bank    building a feature bank, and opening it
    start   imports, and first fits with an empty cache
    """  # noqa: D301 - click takes the character itself for "leave these lines as they are"
    from boostsample.experiments.common.progress import Display

    if rounds is not None and rounds < 1:
        raise SettingError(f"rounds must be at least 1, got {rounds}")
    if jobs is not None and jobs < 2:
        raise SettingError(f"jobs must be at least 2, since one thread stands beside, got {jobs}")
    with ExitStack() as stack:
        display = stack.enter_context(Display(quiet))
        display("starting", 0, 0)
        from boostsample.experiments.bench import bench as timing
        from boostsample.experiments.bench import record as bench_record
        from boostsample.experiments.bench.regression import reference_of
        from boostsample.experiments.common.files import check_file
        from boostsample.experiments.plots.pictures import check_picture, save_picture

        sections = timing.chosen_sections(only, everything)
        if plot is not None and "growth" not in sections:
            raise SettingError(
                f"--plot draws the section growth, but only {', '.join(sections)} would run; add "
                "it to --only, or leave the plot out"
            )
        if keep is not None and not any(timing.SECTIONS[name].ratios for name in sections):
            known = ", ".join(name for name, kind in timing.SECTIONS.items() if kind.ratios)
            raise SettingError(
                f"--keep needs a section with ratios, got {', '.join(sections)}; those with ratios "
                f"are {known}"
            )
        names = _strategies(strategies)
        picture = None if plot is None else check_picture(plot)
        target = None if json is None else check_file(json, ".json", "results")
        kept = None if keep is None else check_file(keep, ".json", "results", new=False)
        sizes = timing.STANDARD
        if rounds is not None:
            sizes = replace(sizes, rounds=rounds)
        if jobs is not None:
            sizes = replace(sizes, threads=jobs)
        facts = bench_record.facts()
        processor = facts["machine"]["processor"]
        earlier = _reference(reference, processor)
        if earlier is None and fail_on_regression:
            raise SettingError(
                "--fail-on-regression needs a reference, and none came with this installation; "
                "name one by --reference, which --keep writes"
            )
        problem = None if data is None else timing.problem_of(data, data_dir)
        one = timing.Bench(sizes, names, problem, display)
        found: dict[str, Section] = {}
        stack.callback(_print_sections, facts, found)  # what was timed, even if the rest fails
        stack.callback(display.close)
        for name in sections:
            found[name] = one.run(name)
        again = {} if kept is None else one.run_again(found, timing.PASSES)
    comparison = _compared(found, earlier, processor)
    if target is not None:
        record = bench_record.record_of(found, facts)
        bench_record.write({"command": ["boostsample", *context.obj], **record}, target)
        say(f"numbers: {target}")
    if kept is not None:
        bench_record.write(reference_of(again, facts), kept)
        say(f"reference: {kept}")
    if picture is not None:
        draw = found["growth"].draw
        assert draw is not None
        save_picture(draw(), picture)
        say(f"plot: {picture}")
    if fail_on_regression and comparison is not None and comparison.worse:
        raise BoostSampleError(
            f"{len(comparison.worse)} of {len(comparison.changes)} ratios are worse than the "
            f"reference by more than their tolerance: "
            f"{', '.join(f'{change.section}: {change.name}' for change in comparison.worse)}"
        )


def _strategies(given: str | None) -> list[str]:
    from boostsample.registry import make_strategy, strategy_names

    if given is None:
        return [name for name in strategy_names() if name != "full"]
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        make_strategy(name)
    return names


def _reference(path: str | None, processor: str) -> Reference | None:
    """The reference that was named, or the one of the package for this processor or another."""
    from boostsample.experiments.bench.regression import read_reference, shipped_reference

    return shipped_reference(processor) if path is None else read_reference(Path(path))


def _print_sections(facts: Mapping[str, Any], found: Mapping[str, Section]) -> None:
    if not found:
        return
    machine, versions = facts["machine"], facts["versions"]
    say(
        f"{machine['processor']}, {machine['cores']} cores, python {versions['python']}, numba "
        f"{versions['numba']}, boostsample {versions['boostsample']}; one thread unless said "
        "otherwise\n"
    )
    for section in found.values():
        for table in section.tables:
            print_table(table)


def _compared(
    found: Mapping[str, Section], reference: Reference | None, processor: str
) -> Comparison | None:
    """Print how the ratios have changed."""
    from boostsample.experiments.bench.regression import changes_table, compare

    if reference is None:
        return None
    comparison = compare(found, reference)
    if comparison.changes:
        print_table(changes_table(comparison))
        n_worse = len(comparison.worse)
        theirs = reference.machine.get("processor", "unknown processor")
        say(
            f"{n_worse or 'no'} ratio{'' if n_worse == 1 else 's'} of {len(comparison.changes)} "
            f"worse than the reference of {reference.created[:10]} ({theirs})\n"
        )
        if theirs != processor:
            say(
                "note: the reference is of another processor, where stores, caches and memory "
                "differ; --keep writes one of this machine\n"
            )
    for note in comparison.notes:
        say(f"note: {note}\n")
    return comparison
