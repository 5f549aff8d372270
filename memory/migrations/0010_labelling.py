from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0009_serving_and_receipts"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="labelling",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "not opened"),
                    ("owner", "opened by its owner"),
                    ("agent", "opened by the agent's setting"),
                    ("refused", "closed by its owner"),
                ],
                default="",
                max_length=8,
            ),
        ),
    ]
