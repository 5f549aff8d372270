"""Conversations from elsewhere, read into records: LoCoMo files and AGORA's own JSONL of turns."""

from memory.engine.trajectories.detect import FORMATS, Format, detect, read_trajectories, read_trajectory_file
from memory.engine.trajectories.records import (
    JsonObject,
    Kind,
    Problem,
    Trajectory,
    TrajectoryError,
    TrajectorySide,
    TrajectoryTurn,
)

__all__ = [
    "FORMATS",
    "Format",
    "JsonObject",
    "Kind",
    "Problem",
    "Trajectory",
    "TrajectoryError",
    "TrajectorySide",
    "TrajectoryTurn",
    "detect",
    "read_trajectories",
    "read_trajectory_file",
]
