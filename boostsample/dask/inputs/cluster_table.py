"""A table on a cluster: its facts and shards, found out by the workers."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank_forms import bank_settings
from boostsample.checks import check_integer
from boostsample.classifier.inputs.fit_inputs import mapped_factors
from boostsample.dask.inputs.part_rows import naming_part
from boostsample.dask.inputs.parts import Part, graph_parts, list_folder, split_columns
from boostsample.dask.inputs.shards_of_parts import ShardSource, cut_shards
from boostsample.dask.inputs.summary import (
    REFERENCE,
    PartSummary,
    TableFacts,
    merged,
    sample_size,
    summarise,
)
from boostsample.dask.versions import check_versions, check_workers, versions_here
from boostsample.errors import DataError, SettingError, ShardError, one_line
from boostsample.names import parse_name

_dask: Any = importlib.import_module("dask")
_distributed: Any = importlib.import_module("distributed")


class TableSettings(NamedTuple):
    """Settings of the classifier that its table depends on.

    Attributes
    ----------
    families : object
        See `boostsample.estimator.BoostSampleClassifier`.
    bank : str
        Form of the banks of the shards, with settings: "memory" or "disk".
    weight_init : str
    class_weight : "balanced", mapping of class to weight, or None
    n_shards : int or None
        Most shards; None is one for each worker.
    """

    families: Any = None
    bank: str = "memory"
    weight_init: str = "balanced"
    class_weight: Any = None
    n_shards: int | None = None


class ClusterTable(NamedTuple):
    """What is known of a table, and the sources of its shards, in the order of its rows."""

    facts: TableFacts
    sources: list[ShardSource]


def read_table(
    client: Any, X: Any, y: Any, sample_weight: Any, settings: TableSettings
) -> ClusterTable:
    """Have the workers read a table once; the client sees none of its rows.

    Parameters
    ----------
    client : distributed.Client
    X : Dask array, Dask data frame, list of delayed parts, or path
        A path is that of a folder, or of one file, that workers read: see `inputs.parts`.
    y, sample_weight
        With the chunks of X, or columns of it; see `inputs.parts`.
    settings : TableSettings

    Raises
    ------
    DataError
        If the table cannot be learned from; with the number of the part where one is at fault.
    SettingError
        If a setting is unknown or out of range, or X, y or weights are of another kind.
    """
    form, settings_of_form = parse_name(settings.bank)
    if form == "lazy":
        raise SettingError(
            "on a cluster, bank must be 'memory' or 'disk', got 'lazy', whose shards would read "
            "their parts in each round"
        )
    of_bank = bank_settings(form, settings_of_form)
    reference = of_bank["reference"] or REFERENCE
    n_workers = len(client.nthreads())
    if settings.n_shards is None and not n_workers:
        raise DataError("the cluster has no worker; start one, or wait by client.wait_for_workers")
    n_shards = check_integer("n_shards", settings.n_shards or n_workers, 1)
    check_workers(client)
    parts, facts = _read(client, X, y, sample_weight, reference, settings)
    factor = None
    if sample_weight is not None or settings.class_weight is not None:
        factor = class_factors(settings.class_weight, facts)
    sources = [
        ShardSource(
            tuple(parts[run]),
            tuple(facts.n_rows[run]),
            tuple(facts.checksums[run]),
            run.start,
            tuple(facts.families),
            facts.cuts,
            facts.classes,
            facts.multi_label,
            factor,
            form,
            of_bank["tile_bytes"],
        )
        for run in cut_shards(facts.n_rows, n_shards)
    ]
    return ClusterTable(facts, sources)


def _read(
    client: Any, X: Any, y: Any, weight: Any, reference: int, settings: TableSettings
) -> tuple[list[Part], TableFacts]:
    """The parts of the table, and its facts."""
    parts: list[Part]
    versions = versions_here()
    if isinstance(X, str | os.PathLike):
        paths = [
            os.fspath(path) if isinstance(path, os.PathLike) else path for path in (X, y, weight)
        ]
        for name, path in zip(("y", "sample_weight"), paths[1:], strict=True):
            if not isinstance(path, str | int) and not (name == "sample_weight" and path is None):
                raise SettingError(
                    f"{name} must be a column or the path of a folder, because X is the path "
                    f"{paths[0]!r:.80}, got {type(path).__name__}"
                )
        parts = client.submit(list_folder, *paths, pure=False).result()
        size = sample_size(len(parts), reference)
        summaries = [
            client.submit(
                _summarise_part, versions, part, number, size, settings.weight_init, pure=False
            )
            for number, part in enumerate(parts)
        ]
    else:
        graph = graph_parts(X, y, weight)
        parts = list(graph.parts)
        size = sample_size(len(parts), reference)
        work = _dask.delayed(_summarise_columns, pure=False)
        summaries = client.compute(
            [
                work(versions, *path, graph.columns, number, size, settings.weight_init)
                for number, path in enumerate(graph.delayed)
            ]
        )
    try:
        facts: TableFacts = client.submit(
            merged, summaries, settings.families, reference, pure=False
        ).result()
    except Exception:
        check_workers(client)  # one with other versions may have joined
        for number, summary in enumerate(summaries):
            if summary.status != "error":
                continue
            error: Any = summary.exception()
            if isinstance(error, _distributed.KilledWorker):
                raise ShardError(
                    f"part {number} of the table ended its workers: {one_line(error)}; they may "
                    "lack memory: use smaller parts"
                ) from error
            with naming_part(number, parts[number].place):
                raise error  # noqa: B904 - the cause is that of the part
        raise
    return parts, facts


def _check_here(client: Mapping[str, Any]) -> None:
    """Check the versions of this worker: it may have joined since all were checked."""
    check_versions(_distributed.get_worker().address, versions_here(), client)


def _summarise_part(
    versions: Mapping[str, Any], part: Part, number: int, n_sample: int, weight_init: str
) -> PartSummary:
    _check_here(versions)
    return summarise(*part.read(), number, n_sample, weight_init)


def _summarise_columns(
    versions: Mapping[str, Any],
    X: Any,
    y: Any,
    weight: Any,
    columns: tuple[Any, Any],
    *rest: Any,
) -> PartSummary:
    _check_here(versions)
    return summarise(*split_columns(X, y, weight, *columns), *rest)


def class_factors(class_weight: Any, facts: TableFacts) -> NDArray[np.float64]:
    """Factor of the weights of the examples of each class: float64 (C,).

    That of `class_weight`, and a power of two by which the largest weight is between 1 and 2, as on
    one machine. Raises SettingError if `class_weight` has another form.
    """
    sums, most = facts.weights[:, 1], facts.weights[:, 3]
    factor = np.ones(sums.size)
    if class_weight is not None and facts.multi_label:
        raise SettingError(
            f"on a cluster, class_weight must be None for several labels, got {class_weight!r:.60};"
            " give sample_weight"
        )
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = sums.sum() / (sums.size * sums)
    elif isinstance(class_weight, Mapping):
        factor = mapped_factors(class_weight, facts.classes.tolist())
    elif class_weight is not None:
        raise SettingError(
            "class_weight must be None, 'balanced' or a mapping of classes to weights, as in "
            f"{{'no': 1, 'yes': 5}}, got {class_weight!r:.60}"
        )
    if not (np.isfinite(factor) & (factor > 0)).all():
        raise SettingError(
            "on a cluster, weights of classes must be finite and above 0, got "
            f"{factor.tolist()!r:.80}; leave the rows of a class out by sample_weight"
        )
    return np.asarray(factor / 2.0 ** math.floor(math.log2((most * factor).max())))
