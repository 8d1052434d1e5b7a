"""The record of a comparison, ``plan.json``: what is compared, on which data, how, and when.

`plan_record` makes all that is known before training, `finished_record` adds the rest.

=================  ===============================================================================
``format``         version of results folders
``complete``       whether ``table.csv`` has all rows
``entries``        the grid with everything written out, for `boostsample compare --grid`
``rounds``, ...    the settings of the plan, but those that are axes
``data_sets``      an entry for each data set and setup: ``setup``, if there are axes, with their
                   values under the names of the settings; name, splits, checksum, families, notes;
                   strategies with settings and parameters, and in ``searches`` the files of their
                   cells by repetition
``cells``, ...     of a complete folder: when and where it was made, with which versions
``sha256``         checksum over all other entries
=================  ===============================================================================
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from boostsample.banks.bank_forms import AUTO_BANK, bank_record
from boostsample.errors import DataError, SettingError, one_line
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.metrics import metric_named, stored_facts
from boostsample.experiments.plan.plan import LIMITS, Plan
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant, plain_setting
from boostsample.experiments.results.runs import Run
from boostsample.experiments.results.titles import counted, settings_of_setup, setup_columns
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_json
from boostsample.loop.budgets import EQUAL
from boostsample.loop.numerics import NUMERICS

FORMAT = 3
"""Version of results folders of one setup."""
FORMAT_OF_SETUPS = 4
"""Version of results folders of several setups."""
_WAY_OUT = "restore the file, or remove it and run the same command with the same --results again"


def plan_record(prepared: Sequence[Prepared]) -> dict[str, Any]:
    """The record of a comparison that has not begun."""
    axes = prepared[0].axes
    entries = [_data_record(setup) for setup in prepared]
    settings = [
        {**_settings(setup.plan), "bank": _bank_record([setup] if "bank" in axes else prepared)}
        for setup in prepared
    ]
    for entry, of_setup in zip(entries, settings, strict=True):
        if axes:
            entry["setup"] = {name: value for name, value in of_setup.items() if name in axes}
    return {
        "format": FORMAT_OF_SETUPS if axes else FORMAT,
        "complete": False,
        **{name: value for name, value in settings[0].items() if name not in axes},
        "data_sets": entries,
    }


def _bank_record(prepared: Sequence[Prepared]) -> dict[str, Any]:
    """The form of the bank and its settings; "auto" where data sets have different ones."""
    first, *others = (data.plan.bank for data in prepared)
    if any(bank != first for bank in others):
        return {"form": AUTO_BANK, "reference": None}
    return bank_record(first.name, first.settings)


def _settings(plan: Plan) -> dict[str, Any]:
    metrics = [stored_facts(metric_named(name)) for name in plan.metrics]
    return {
        "learner": plan.learner,
        "rounds": list(plan.marks),
        "repeats": plan.repeats,
        "budget": None if plan.budget is None else str(plan.budget),
        "weights": plan.weights,
        **plan.run_settings,
        **plan.limits,
        "seed": plan.seed,
        "history": plan.history,
        **({} if plan.score_every is None else {"score_every": plan.score_every}),
        **({} if plan.regret is None else {"regret": plan.regret}),
        **({"metrics": metrics} if metrics else {}),
    }


def _data_record(prepared: Prepared) -> dict[str, Any]:
    groups = iter(task_groups(prepared))
    strategies = []
    for variant in prepared.variants:
        searches = [
            {
                "repetition": repetition,
                "budgets": [task.budget for task in group],
                "files": [task.file_name for task in group],
            }
            for repetition, group in zip(range(prepared.plan.repeats), groups, strict=False)
        ]
        strategies.append({**_strategy_record(variant, prepared), "searches": searches})
    tuning = _tuning_note(prepared)
    return {
        "name": prepared.data.name,
        "split": "drawn" if prepared.data.draws_splits else "fixed",
        "n_train": [len(train) for train, _ in prepared.splits],
        "n_test": [len(test) for _, test in prepared.splits],
        "sha256": prepared.data.digest,
        "shape": list(prepared.data.X.shape),
        "classes": list(prepared.data.classes),
        "families": [
            {"name": f.name, "n_features": f.n_features, "settings": f.settings()}
            for f in prepared.families
        ],
        "strategies": strategies,
        "notes": [*prepared.notes, *([tuning] if tuning else [])],
    }


def _strategy_record(variant: Variant, prepared: Prepared) -> dict[str, Any]:
    tuned = {key for tried in variant.grid for key in tried.settings} - set(variant.settings)
    grid = [tried.settings_text for tried in variant.grid]
    kind = prepared.budget_kind(variant, 0)
    return {
        "strategy": variant.row_name,
        "settings": variant.settings_text,
        "parameters": {
            key: plain_setting(value)
            for key, value in variant.strategy().get_params().items()
            if key not in tuned
        },
        "settings_in_use": prepared.settings_in_use(variant),
        **({} if kind == EQUAL else {"round_budgets": str(prepared.plan.budget)}),
        "budget": [
            min(prepared.budget(trained, repetition) for trained in variant.trained)
            for repetition in range(prepared.plan.repeats)
        ],
        **({"grid": grid} if grid else {}),
        "variants": [_variant_record(entry) for entry in (variant, *variant.grid)],
    }


def _variant_record(variant: Variant) -> dict[str, Any]:
    settings = {key: plain_setting(value) for key, value in variant.settings.items()}
    return {"name": variant.name, "settings": settings}


def variant_of(strategy: Mapping[str, Any]) -> Variant:
    """The strategy of a record, with its tuning grid."""
    plain, *grid = (Variant(entry["name"], entry["settings"]) for entry in strategy["variants"])
    return Variant(plain.name, plain.settings, tuple(grid))


def _tuning_note(prepared: Prepared) -> str:
    tuned = [variant for variant in prepared.variants if variant.grid]
    if not tuned:
        return ""
    n_rounds, word = prepared.plan.n_rounds, counted([prepared.plan.learner])
    sizes = ", ".join(f"{len(variant.grid)} for {variant.label}" for variant in tuned)
    return (
        "strategies with a * were tuned: each of the M settings of their tuning grid "
        f"({sizes}) was trained in each repetition, and the run with the smallest training loss "
        f"after {n_rounds:,} {word} was kept. A column 'charged' includes the cost of tuning: its "
        f"row of m {word} shows the kept run after m / M {word}, when all M runs together have "
        f"spent the looks of m {word}; '-' if that is less than one {word.removesuffix('s')}"
    )


def finished_record(record: Mapping[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """A record with what is known of the runs of all data sets."""
    data_sets = []
    for data in record["data_sets"]:
        strategies, notes = [], list(data["notes"])
        settings = settings_of_setup(record, data)
        of_setup = data["name"], setup_columns(settings)
        for strategy in data["strategies"]:
            variant = variant_of(strategy)
            runs_of_variant = [
                run
                for run in runs
                if (run.data, run.setup, run.variant.label) == (*of_setup, variant.label)
            ]
            strategies.append({**strategy, **_runs_record(strategy["budget"], runs_of_variant)})
            notes += filter(
                None,
                [
                    _early_note(variant, runs_of_variant, settings),
                    _unspent_note(variant, runs_of_variant, settings),
                ],
            )
        data_sets.append({**data, "strategies": strategies, "notes": notes})
    return {
        **record,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_sets": data_sets,
        "numerics": NUMERICS,
        "versions": versions(),
        "machine": machine(),
        "cells": _made(runs),
    }


def _runs_record(budgets: Sequence[int], runs: Sequence[Run]) -> dict[str, Any]:
    """Budgets and streams of the kept runs of a strategy, and what tuning found.

    `budgets` has those of all repetitions as planned, for those without a run.
    """
    budget_of = {run.repetition: run.budget for run in runs}
    tuning = [
        {
            "repetition": run.repetition,
            "kept": run.trained.settings_text,
            "final_log10_loss": list(run.tuning.losses),
            "looks": run.tuning.total.looks,
            "seconds": run.tuning.total.seconds,
        }
        for run in runs
        if run.tuning is not None
    ]
    return {
        "budget": [budget_of.get(number, planned) for number, planned in enumerate(budgets)],
        "stream": [run.cell.facts["stream"] for run in runs],
        **({"tuning": tuning} if tuning else {}),
    }


def _early_note(variant: Variant, runs: Sequence[Run], record: Mapping[str, Any]) -> str:
    ended = [run for run in runs if run.n_rounds < record["rounds"][-1]]
    if not ended:
        return ""
    places = ", ".join(f"{run.n_rounds:,} in repetition {run.repetition}" for run in ended)
    reasons = "; ".join(dict.fromkeys(str(run.cell.about["stopped"]) for run in ended))
    return (
        f"{variant.label}: training ended early, number of {counted([record['learner']])}: "
        f"{places} ({reasons}); later rows repeat the last state"
    )


def _unspent_note(variant: Variant, runs: Sequence[Run], settings: Mapping[str, Any]) -> str:
    n_rounds = settings["rounds"][-1]
    spent = [run.spent_at(n_rounds) for run in runs if run.n_rounds == n_rounds]
    faults = []
    if spent and (looks := min(of.looks for of in spent)) < settings.get("max_looks", 0):
        faults.append(f"{looks:,} looks, below max_looks={settings['max_looks']:,}")
    if spent and (cost := min(of.cost for of in spent)) < settings.get("max_cost", 0):
        faults.append(f"{cost:.3g} nominal seconds, below max_cost={settings['max_cost']:g}")
    if not faults:
        return ""
    return (
        f"{variant.label}: all {n_rounds:,} {counted([settings['learner']])} are trained with "
        f"{' and '.join(faults)}; give more --rounds to spend them"
    )


def _made(runs: Sequence[Run]) -> dict[str, Any]:
    about = [run.cell.about for run in runs]
    started = sorted(str(cell["started"]) for cell in about)
    return {
        "first": started[0],
        "last": started[-1],
        "seconds": sum(float(cell["wall"]) for cell in about),
        "machines": _different([cell["machine"] for cell in about]),
        "versions": _different([cell["versions"] for cell in about]),
    }


def _different(values: Sequence[Any]) -> list[Any]:
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, values))]


# --------------------------------------------------------------------------------------- growth

_Search = tuple[str, str, int, tuple[str, ...]]


def check_growth(old: Mapping[str, Any], prepared: Sequence[Prepared], place: str) -> None:
    """Raise SettingError, with the difference, if an old record has rows that a new plan lacks."""
    limits = dict.fromkeys(LIMITS)
    new = [{**limits, **_settings(setup.plan)} for setup in prepared]
    before = Counter(
        (data["name"], variant_of(strategy).label, search["repetition"], tuple(search["files"]))
        for data in old["data_sets"]
        for strategy in data["strategies"]
        for search in strategy.get("searches", ())
    )
    now = Counter(search for data in prepared for search in _searches(data, max(old["rounds"])))
    lost = before - now  # `full` may have the same files in several setups
    rounds = set(new[0]["rounds"])
    shrunk = bool(old.get("history")) and not new[0]["history"]
    if not lost and set(old["rounds"]) <= rounds and not shrunk:
        return
    of_old = [settings_of_setup(old, entry) for entry in old["data_sets"]]
    faults = []
    for name in dict.fromkeys(name for settings in new for name in settings):
        was, values = _different_values(of_old, name), _different_values(new, name)
        kept = all(value in values for value in was)
        if name == "rounds":
            kept = set(old[name]) <= rounds
        if not kept and name not in ("score_every", "regret", "metrics"):
            texts = (", ".join(map(_text, listed)) for listed in (was, values))
            faults.append("{} was {}, is {}".format(name, *texts))
    names = sorted({search[:3] for search in lost} - {search[:3] for search in now})
    if names and not faults:
        data, label, repetition = names[0]
        other = _other_spelling(label, old, prepared)
        faults.append(
            f"{label} is spelled {other} in the new one (spell it as before)"
            if other
            else f"{data} {label} {repetition} is not in the new one (name it, too)"
        )
    if not faults and lost:
        data, label, *_ = min(lost)
        faults.append(f"{label} of {data} has other rows, families, values to tune or code")
    raise SettingError(
        f"the results folder {place} holds another grid: {'; '.join(faults)}; a "
        "grid may grow there (more strategies, data sets, repetitions or rounds), but must "
        "keep all its rows: name another folder"
    )


def _other_spelling(label: str, old: Mapping[str, Any], prepared: Sequence[Prepared]) -> str:
    """The label of an equal variant, as 1 and 1.0 are one value, in a new plan; empty if none."""
    before = [variant_of(strategy) for data in old["data_sets"] for strategy in data["strategies"]]
    keys = [(variant.key, bool(variant.grid)) for variant in before if variant.label == label]
    now = [variant for data in prepared for variant in data.variants]
    return next((of.label for of in now if (of.key, bool(of.grid)) in keys), "")


def _different_values(settings: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    values: list[Any] = []
    for of_setup in settings:
        if (value := of_setup.get(name)) not in values:
            values.append(value)
    return values


def _searches(prepared: Prepared, n_rounds: int) -> list[_Search]:
    groups = iter(task_groups(prepared, n_rounds))
    return [
        (prepared.data.name, variant.label, repetition, tuple(task.file_name for task in group))
        for variant in prepared.variants
        for repetition, group in zip(range(prepared.plan.repeats), groups, strict=False)
    ]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        settings = (f"{key}={setting}" for key, setting in value.items() if key != "form")
        return ":".join([str(value["form"]), *settings])
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


# -------------------------------------------------------------------------------------- checksum


def plan_bytes(record: Mapping[str, Any]) -> bytes:
    """The content of ``plan.json``: a record with a checksum over it."""
    return f"{json.dumps({**record, 'sha256': sha256_of_json(record)}, indent=1)}\n".encode()


def plan_of_bytes(content: bytes) -> dict[str, Any]:
    """The record of `plan_bytes`; DataError for any other content."""
    try:
        record: dict[str, Any] = read_json(content)
        number, checksum = record["format"], record.pop("sha256", "")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"plan.json: {one_line(error)}; {_WAY_OUT}") from error
    if number not in (FORMAT, FORMAT_OF_SETUPS):
        raise DataError(
            f"plan.json has format {number!r:.60}, this version of boostsample reads format "
            f"{FORMAT} and {FORMAT_OF_SETUPS}; use the version that wrote it, or run it again"
        )
    if checksum != sha256_of_json(record):
        raise DataError(f"plan.json is damaged or was edited; {_WAY_OUT}")
    return record
