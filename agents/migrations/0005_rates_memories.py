"""An agent's model may be asked how much some memories matter."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0004_labelling"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="rates_memories",
            field=models.BooleanField(default=False, verbose_name="its model rates some memories"),
        ),
    ]
