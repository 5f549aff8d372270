"""What the analyst's door shows of judgements: those of the opened bank's memories."""

from django.db import migrations

from memory.tenancy import behind_door


class Migration(migrations.Migration):
    dependencies = [
        ("training", "0008_written_features"),
        ("memory", "0013_behind_the_door"),
    ]

    operations = [
        behind_door("training_label", "EXISTS (SELECT FROM memory_memory m WHERE m.id = memory_id)"),
    ]
