"""The tables of the policy lab: replays that a person asked for, and their numbers."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import owned_table


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0011_opened_banks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="LabReplay",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("asked", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "waits"),
                            ("running", "runs"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("progress", models.FloatField(default=0.0)),
                ("error", models.TextField(blank=True)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="LabResult",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("adapter", models.CharField(max_length=80)),
                ("version", models.CharField(max_length=80)),
                ("policy", models.CharField(max_length=120)),
                ("budget", models.CharField(max_length=12)),
                ("memories", models.PositiveIntegerField()),
                ("tokens", models.PositiveBigIntegerField()),
                ("turns", models.PositiveIntegerField()),
                ("told", models.PositiveIntegerField()),
                ("held", models.PositiveIntegerField()),
                ("evicted", models.PositiveIntegerField()),
                ("merged", models.PositiveIntegerField()),
                ("recalled", models.PositiveIntegerField()),
                ("missed", models.PositiveIntegerField()),
                ("wanted", models.FloatField()),
                ("missed_weight", models.FloatField()),
                ("regretted", models.PositiveIntegerField()),
                ("misses", models.JSONField(default=list)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.conversation"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "replay",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="results",
                        to="memory.labreplay",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="labreplay",
            index=models.Index(fields=["owner", "-created_at"], name="lab_replay_by_time"),
        ),
        migrations.AddConstraint(
            model_name="labresult",
            constraint=models.UniqueConstraint(
                fields=("replay", "conversation", "adapter", "policy", "budget"), name="one_result_a_bank"
            ),
        ),
        owned_table("memory_labreplay"),
        owned_table("memory_labresult"),
    ]
