"""Labels, and who may read them."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import owned_table


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memory", "0006_trained_adapters"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Label",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "about",
                    models.CharField(choices=[("importance", "importance"), ("relevance", "relevance")], max_length=12),
                ),
                (
                    "value",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ]
                    ),
                ),
                ("weight", models.FloatField(default=1.0, validators=[django.core.validators.MinValueValidator(0)])),
                (
                    "source",
                    models.CharField(
                        choices=[("action", "useful, outdated or wrong, said of a memory's row")], max_length=16
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=40)),
                ("text", models.TextField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="labels", to="memory.memory"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "recall",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="memory.recall",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["at"], name="label_by_age")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("value__gte", 0), ("value__lte", 1), ("weight__gte", 0)),
                        name="label_in_range",
                    ),
                    models.UniqueConstraint(
                        fields=("memory", "about", "source", "by", "recall"),
                        name="one_judgement_each",
                        nulls_distinct=False,
                    ),
                ],
            },
        ),
        owned_table("training_label"),
    ]
