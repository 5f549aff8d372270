"""Training: labels, the labelling queue, training runs, and which adapter serves."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TrainingConfig(AppConfig):
    name = "training"
    verbose_name = _("Training")

    def ready(self) -> None:
        """Follow erasures, and listen to what people want of their memories: pinning and forgetting are judgements."""
        from training.services import forgetting, kept  # noqa: F401 (they subscribe, in every process)
