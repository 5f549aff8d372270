"""By which adapter it was found what later turns needed: one for all adapters of a replay. Before, each one's own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0014_looks")]

    operations = [
        migrations.AddField(
            model_name="labresult",
            name="reference",
            field=models.CharField(blank=True, default="", max_length=80),
        ),
    ]
