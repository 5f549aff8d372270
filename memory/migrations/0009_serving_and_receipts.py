"""Which adapter serves by default, whose choice a bank's adapter is, and receipts of erasures."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import owned_table

# So far only its person could have given a bank an adapter by name, but for a head learned for it.
CHOSEN = (
    "UPDATE memory_bank SET keeps_adapter = true WHERE adapter <> '' AND adapter NOT LIKE 'own-%%'",
    migrations.RunSQL.noop,
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0008_cancelled_jobs_and_doubts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="adapterversion",
            name="serves",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="adapterversion",
            name="replaced_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="memory.adapterversion"
            ),
        ),
        migrations.AddConstraint(
            model_name="adapterversion",
            constraint=models.UniqueConstraint(
                condition=models.Q(("serves", True)), fields=("serves",), name="one_adapter_serves"
            ),
        ),
        migrations.AddField(
            model_name="bank",
            name="keeps_adapter",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(*CHOSEN),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("what", models.CharField(max_length=12)),
                ("counts", models.JSONField(default=dict)),
                ("first_seq", models.PositiveBigIntegerField()),
                ("last_seq", models.PositiveBigIntegerField()),
                ("learned", models.JSONField(default=list)),
                ("looked", models.BooleanField(db_default=False, default=False)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "bank",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.bank"),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"ordering": ["-at"]},
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(fields=["owner", "-at"], name="erasure_by_time"),
        ),
        owned_table("memory_erasure"),
    ]
