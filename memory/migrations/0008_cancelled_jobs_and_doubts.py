"""Jobs can be cancelled while they wait (a choice alone), and memories be marked that a newer one contradicts."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import owned_table


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0007_job_progress"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="state",
            field=models.CharField(
                choices=[
                    ("pending", "pending"),
                    ("running", "running"),
                    ("done", "done"),
                    ("failed", "failed"),
                    ("cancelled", "cancelled"),
                ],
                default="pending",
                max_length=10,
                verbose_name="state",
            ),
        ),
        migrations.CreateModel(
            name="Doubt",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "what",
                    models.CharField(
                        choices=[
                            ("number", "another number"),
                            ("date", "another date"),
                            ("name", "another name"),
                            ("negation", "the opposite"),
                            ("correction", "a correction"),
                        ],
                        max_length=12,
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "bank",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.bank"),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="doubts", to="memory.memory"
                    ),
                ),
                (
                    "newer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.memory"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("memory", "newer"), name="doubted_once")],
            },
        ),
        owned_table("memory_doubt"),
    ]
