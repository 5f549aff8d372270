"""Tables of training."""

from training.models.asked import ModelAsked
from training.models.label import About, Label, Source
from training.models.promotion import BankStep, Promotion, PromotionMode, Rules, ShadowScore, StepState
from training.models.review import Chosen, Mode, Review, ReviewItem, ReviewState
from training.models.run import RunState, Snapshot, TrainingRun
from training.models.thumb import Thumb

__all__ = [
    "About", "BankStep", "Chosen", "Label", "Mode", "ModelAsked", "Promotion", "PromotionMode", "Review", "ReviewItem",
    "ReviewState", "Rules", "RunState", "ShadowScore", "Snapshot", "Source", "StepState", "Thumb", "TrainingRun",
]  # fmt: skip
