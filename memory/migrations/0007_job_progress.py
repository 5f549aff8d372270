"""How far a job is, for work that takes its time."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0006_trained_adapters"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="progress",
            field=models.FloatField(null=True, verbose_name="progress"),
        ),
        migrations.AddField(
            model_name="job",
            name="stage",
            field=models.CharField(blank=True, default="", db_default="", max_length=40),
        ),
    ]
