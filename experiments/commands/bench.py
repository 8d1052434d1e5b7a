"""The command `boostsample bench`: times looks and rounds on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostsample.errors import BoostSampleError, SettingError, unknown
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.layout_options import layout_options
from boostsample.experiments.commands.shared.printing import print_line, print_table

if TYPE_CHECKING:
    from boostsample.experiments.bench.reference import RatioChange, Reference
    from boostsample.experiments.bench.timing import TimingResult


@click.command()
@click.option(
    "--only", metavar="A,B", help="Sections: looks, samples, bounds, rounds, learners, growth."
)
@click.option(
    "--data", metavar="NAME|PATH", help="A data set.  [default: made data, 60,000 x 2,000]"
)
@options.data_dir_option
@click.option(
    "--strategies", metavar="A,B", help="Strategies of rounds.  [default: all but full, quickboost]"
)
@click.option("--rounds", type=int, metavar="N", help="Rounds of each strategy.  [default: 200]")
@click.option("--jobs", type=int, metavar="N", help="Threads beside one.  [default: all cores]")
@click.option("--plot", metavar="FILE", help="Plot growth to an .svg, .png or .pdf file.")
@layout_options
@click.option("--json", metavar="FILE", help="Write all numbers into a .json file.")
@click.option(
    "--reference", metavar="FILE", help="Ratios to compare with.  [default: shipped ones]"
)
@click.option(
    "--keep", metavar="FILE", help="Time three times; write a reference into a .json file."
)
@click.option("--fail-on-regression", is_flag=True, help="Exit with code 1 if a ratio is worse.")
@options.overwrite_option
@options.quiet_option
@click.pass_context
def bench(
    context: click.Context,
    /,
    plot: str | None,
    json: str | None,
    keep: str | None,
    fail_on_regression: bool,
    overwrite: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Time looks and rounds on this machine.

    Compares ratios of times with those of a reference. Run nothing else at the same time.

    \b
    looks     nanoseconds a look, and its bounds
    samples   looks at samples of several sizes, of features that lie together or apart
    bounds    the bare reads of laminating beside its searches
    rounds    milliseconds a round of every strategy, its parts, and two threads
    learners  products and trees beside stumps at equal looks
    growth    cost as N, Q, T and K grow, with slopes
    """  # noqa: D301 - click reads the character itself as "leave these lines as they are"
    from boostsample.checks import MOST_REPEATS, check_count
    from boostsample.experiments.common.progress import ProgressDisplay

    rounds, jobs, data, data_dir = (settings[key] for key in ("rounds", "jobs", "data", "data_dir"))
    if rounds is not None:
        check_count("rounds", rounds, MOST_REPEATS)
    if jobs is not None and jobs < 2:
        raise SettingError(f"jobs must be at least 2, to be compared with one thread, got {jobs}")
    with ExitStack() as stack:
        display = stack.enter_context(ProgressDisplay(quiet))
        display("starting", 0, 0)
        from boostsample.experiments.bench import reference as kept_ratios
        from boostsample.experiments.bench.problem import loaded_bench_problem, made_bench_problem
        from boostsample.experiments.bench.sections import SECTION_SIZES, SECTIONS
        from boostsample.experiments.plots.drawing.picture_files import check_picture, save_picture
        from boostsample.files.atomic import check_writable_file
        from boostsample.threads.threads import n_threads

        sections = chosen_sections(settings["only"])
        if plot is not None and "growth" not in sections:
            raise SettingError(
                f"--plot draws the section growth, but only {', '.join(sections)} would run; add "
                "it to --only, or leave the plot out"
            )
        sizes = replace(
            SECTION_SIZES,
            strategies=_strategies(settings["strategies"]),
            rounds=rounds or SECTION_SIZES.rounds,
            threads=n_threads(jobs or SECTION_SIZES.threads),
        )
        picture = None if plot is None else check_picture(plot, overwrite=overwrite)
        target, kept = (
            None if file is None else check_writable_file(file, ".json", what, overwrite=overwrite)
            for file, what in ((json, "numbers"), (keep, "the reference"))
        )
        facts = kept_ratios.reference_facts()
        processor = facts["machine"]["processor"]
        if settings["reference"] is None:
            earlier = kept_ratios.shipped_reference(processor)
        else:
            earlier = kept_ratios.read_reference(Path(settings["reference"]))
        if earlier is None and fail_on_regression:
            raise SettingError(
                "--fail-on-regression needs a reference, but this installation has none; write "
                "one with --keep and name it with --reference"
            )
        display("making data", 0, 0)
        made = sizes.examples, sizes.features, sizes.classes
        problem = (
            made_bench_problem(*made) if data is None else loaded_bench_problem(data, data_dir)
        )
        found: dict[str, TimingResult] = {}
        stack.callback(_print_sections, facts, found)  # also if a later section fails
        stack.callback(display.close)
        for name in sections:
            found[name] = SECTIONS[name](problem, sizes, display)
        passes = [found]
        for _ in range(0 if kept is None else 2):  # three passes in all
            passes.append({name: SECTIONS[name](problem, sizes, display) for name in found})
    changes = [] if earlier is None else _print_changes(found, earlier, processor)
    if target is not None:
        record = kept_ratios.reference_record(passes[:1], facts)
        kept_ratios.write_reference({"command": ["boostsample", *context.obj], **record}, target)
        print_line(f"numbers: {target}")
    if kept is not None:
        kept_ratios.write_reference(kept_ratios.reference_record(passes, facts), kept)
        print_line(f"reference: {kept}")
    if picture is not None and (draw := found["growth"].draw) is not None:
        save_picture(draw(), picture)
        print_line(f"plot: {picture}")
    if fail_on_regression:
        _check_changes(changes)


def chosen_sections(only: str | None) -> tuple[str, ...]:
    """The names in a list such as "looks,rounds", in the order of `SECTIONS`; None is all.

    SettingError if a name is unknown, or if none is given.
    """
    from boostsample.experiments.bench.sections import SECTIONS

    if only is None:
        return tuple(SECTIONS)
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in SECTIONS:
            raise unknown("section", name, SECTIONS)
    if not names:
        raise SettingError(f"--only must name a section; there are: {', '.join(SECTIONS)}")
    return tuple(name for name in SECTIONS if name in names)


def _strategies(given: str | None) -> tuple[str, ...]:
    from boostsample.registry import make_strategy, strategy_names

    if given is None:
        return tuple(name for name in strategy_names() if name not in ("full", "quickboost"))
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        make_strategy(name)
    return names


def _print_sections(facts: Mapping[str, Any], found: Mapping[str, TimingResult]) -> None:
    machine, versions = facts["machine"], facts["versions"]
    print_line(
        f"{machine['processor']}, {machine['cores']} cores, python {versions['python']}, numba "
        f"{versions['numba']}, boostsample {versions['boostsample']}; one thread unless noted\n"
    )
    for section in found.values():
        for table in section.tables:
            print_table(table)


def _print_changes(
    found: Mapping[str, TimingResult], reference: Reference, processor: str
) -> list[RatioChange]:
    """Print how the ratios have changed."""
    from boostsample.experiments.bench.reference import changes_table, check_against_reference

    changes, notes = check_against_reference(found, reference)
    n_worse = sum(change.verdict == "worse" for change in changes)
    theirs = reference.machine.get("processor", "unknown processor")
    if changes:
        print_table(changes_table(changes))
        print_line(
            f"{n_worse or 'no'} ratio{'' if n_worse == 1 else 's'} of {len(changes)} worse than "
            f"the reference of {reference.created[:10]} ({theirs})\n"
        )
        if theirs != processor:
            notes.insert(0, "the reference is of another processor; --keep writes a new one")
    for note in notes:
        print_line(f"note: {note}\n")
    return changes


def _check_changes(changes: Sequence[RatioChange]) -> None:
    """Raise BoostSampleError if ratios are worse by more than their tolerance."""
    worse = [f"{one.section}: {one.name}" for one in changes if one.verdict == "worse"]
    if worse:
        raise BoostSampleError(
            f"{len(worse)} of {len(changes)} ratios are worse than the reference by more than "
            f"their tolerance: {', '.join(worse)}"
        )
