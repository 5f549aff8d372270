"""Training: labels, the labelling queue, training runs, and which adapter serves."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TrainingConfig(AppConfig):
    name = "training"
    verbose_name = _("Training")

    def ready(self) -> None:
        from training.services import forgetting  # noqa: F401  (follows erasures, in every process)
