"""Sampling strategies, one file each, and the names needed to write another."""

if __name__ != "boostsample.strategies":
    raise ImportError(
        f"import boostsample.strategies, not {__name__}: there would be two copies of every class"
    )

from boostsample.step import Step
from boostsample.strategies.adaptive_halving import AdaptiveHalving
from boostsample.strategies.bandits.epsilon_greedy import EpsilonGreedy
from boostsample.strategies.bandits.exp3p import Exp3P
from boostsample.strategies.bandits.explore_then_commit import ExploreThenCommit
from boostsample.strategies.bandits.ucb import UCB
from boostsample.strategies.bandits.ucbv import UCBV
from boostsample.strategies.cost_aware import CostAware
from boostsample.strategies.filterboost import FilterBoost
from boostsample.strategies.full import Full
from boostsample.strategies.hedge import Hedge
from boostsample.strategies.laminating import Laminating
from boostsample.strategies.mas.mas_1q import MAS1Q
from boostsample.strategies.mas.mas_naive import MASNaive
from boostsample.strategies.mas.mas_q1 import MASQ1
from boostsample.strategies.modern.adaptive_pruning import AdaptivePruning
from boostsample.strategies.modern.box_thirding import BoxThirding
from boostsample.strategies.modern.ema_fs import EMAFS
from boostsample.strategies.modern.label_sampling import LabelSampling
from boostsample.strategies.modern.mabsplit import MABSplit
from boostsample.strategies.modern.median_elimination import MedianElimination
from boostsample.strategies.modern.mp_boost import MPBoost
from boostsample.strategies.modern.quickboost import QuickBoost
from boostsample.strategies.modern.sparrow import Sparrow
from boostsample.strategies.modern.weight_trimming import WeightTrimming
from boostsample.strategies.screening import Screening
from boostsample.strategies.successive_halving import SuccessiveHalving
from boostsample.strategies.tasting.tasting_1q import Tasting1Q
from boostsample.strategies.tasting.tasting_q1 import TastingQ1
from boostsample.strategies.uniform_1q import Uniform1Q
from boostsample.strategies.uniform_naive import UniformNaive
from boostsample.strategies.uniform_q1 import UniformQ1
from boostsample.strategy import (
    FamilyInfo,
    Outcome,
    Pool,
    Sample,
    Strategy,
    Stump,
    Stumps,
    sample_members,
)

__all__ = [
    "AdaptiveHalving",
    "CostAware",
    "EpsilonGreedy",
    "Exp3P",
    "ExploreThenCommit",
    "FamilyInfo",
    "FilterBoost",
    "Full",
    "Hedge",
    "LabelSampling",
    "Laminating",
    "MABSplit",
    "MAS1Q",
    "MASNaive",
    "MASQ1",
    "MPBoost",
    "MedianElimination",
    "Outcome",
    "Pool",
    "QuickBoost",
    "Sample",
    "Screening",
    "Sparrow",
    "Step",
    "Strategy",
    "Stump",
    "Stumps",
    "SuccessiveHalving",
    "UCB",
    "UCBV",
    "Uniform1Q",
    "UniformNaive",
    "UniformQ1",
    "WeightTrimming",
    "sample_members",
    "AdaptivePruning",
    "BoxThirding",
    "EMAFS",
    "Tasting1Q",
    "TastingQ1",
]
