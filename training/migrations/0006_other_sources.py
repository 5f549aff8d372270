"""Pins and wishes to forget are labels too; a reply can have a thumb; what was asked of agents' models."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import owned_table


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0006_trained_adapters"),
        ("training", "0005_steps_and_counts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="label",
            name="source",
            field=models.CharField(
                choices=[
                    ("queue", "labelling queue"),
                    ("action", "useful, outdated or wrong, said of a memory's row"),
                    ("kept", "pinned or forgotten"),
                    ("thumb", "thumb on a reply"),
                    ("hindsight", "what later turns used"),
                    ("counterfactual", "what the action would have been without it"),
                    ("regret", "missed after its eviction"),
                    ("model", "the language model's own rating"),
                    ("imported", "imported evidence"),
                ],
                max_length=16,
            ),
        ),
        migrations.CreateModel(
            name="Thumb",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("up", models.BooleanField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "turn",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.turn"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ModelAsked",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("memories", models.PositiveIntegerField()),
                ("rated", models.PositiveIntegerField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "turn",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.turn"
                    ),
                ),
            ],
        ),
        owned_table("training_thumb"),
        owned_table("training_modelasked"),
    ]
