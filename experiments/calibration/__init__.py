"""Calibration of planning: measured and predicted edges of searches of Q features on T examples."""

from boostsample.experiments.calibration.calibration import (
    DEFAULT_PLAN,
    DEFAULT_REPEATS,
    Calibration,
    calibrate,
    check_request,
)
from boostsample.experiments.calibration.points import CHOICE_COLUMNS, POINT_COLUMNS

__all__ = [
    "CHOICE_COLUMNS",
    "DEFAULT_PLAN",
    "DEFAULT_REPEATS",
    "POINT_COLUMNS",
    "Calibration",
    "calibrate",
    "check_request",
]
