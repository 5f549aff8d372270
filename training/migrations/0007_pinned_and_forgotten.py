"""Pins and wishes to forget are labels too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("training", "0002_queue_runs_promotions")]

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
    ]
