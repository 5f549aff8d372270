"""Room for adapters that are learned here: their weights, and what they were learned from."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0005_fewer_constraints"),
    ]

    operations = [
        migrations.AddField(
            model_name="adapterversion",
            name="parent",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="memory.adapterversion"
            ),
        ),
        migrations.AddField(
            model_name="adapterversion",
            name="weights",
            field=models.BinaryField(null=True),
        ),
    ]
