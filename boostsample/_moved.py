"""Former import paths of public modules, kept working."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

__all__ = ["MOVED", "install"]

#: Former and present path of each module, below `boostsample`.
MOVED = {
    "bank": "banks.bank",
    "bank_cache": "banks.cached_bank",
    "bank_disk": "banks.disk",
    "bank_lazy": "banks.lazy",
    "binning": "banks.binning",
    "booster": "loop.booster",
    "cache_folder": "banks.cache_folder",
    "cli": "experiments.commands.cli",
    "expected_edge": "planning.expected_edge",
    "mixture": "planning.mixture",
    "model": "models.model",
    "numerics": "loop.numerics",
    "sampling": "rows.sampling_schemes",
    "weights": "rows.weights",
    "classifier.inputs.columns": "classifier.inputs.frames",
    "experiments.compare": "experiments.run.compare",
    "experiments.curves": "experiments.results.rows",
    "experiments.datasets": "experiments.data.datasets",
    "experiments.levels": "experiments.results.curves",
    "experiments.member_plots": "experiments.plots.family_members",
    "experiments.result_tables": "experiments.tables.score_tables",
    "experiments.significance": "experiments.results.significance",
    "experiments.table_formats": "experiments.tables.formats",
    "experiments.variants": "experiments.plan.variants",
    "families.table_groups": "families.columns",
    "families.fourier": "families.images.fourier",
    "families.gradient": "families.images.gradient",
    "families.gradient_histograms": "families.images.gradient_histograms",
    "families.haar": "families.images.haar",
    "families.haar_like": "families.images.haar_like",
    "families.identity": "families.images.identity",
    "families.lbp": "families.images.lbp",
    "families.opponent": "families.images.opponent",
    "families.oriented_gradients": "families.images.oriented_gradients",
    "families.patches": "families.images.patches",
    "strategies.epsilon_greedy": "strategies.bandits.epsilon_greedy",
    "strategies.exp3p": "strategies.bandits.exp3p",
    "strategies.explore_then_commit": "strategies.bandits.explore_then_commit",
    "strategies.mas_1q": "strategies.mas.mas_1q",
    "strategies.mas_naive": "strategies.mas.mas_naive",
    "strategies.mas_q1": "strategies.mas.mas_q1",
    "strategies.ucb": "strategies.bandits.ucb",
    "strategies.ucbv": "strategies.bandits.ucbv",
}


class _Moved:
    """Finder and loader of modules by their former paths: one module, two names.

    The base classes of `importlib.abc` would take 25 ms to import.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for a former path, None for every other."""
        package, _, rest = name.partition(".")
        known = package == __package__ and rest in MOVED
        return ModuleSpec(name, cast(Any, self)) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module at its present path."""
        module = importlib.import_module(f"{__package__}.{MOVED[spec.name.partition('.')[2]]}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec of the present path; the module has run already."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Make the former paths importable."""
    if not any(type(finder).__name__ == _Moved.__name__ for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
