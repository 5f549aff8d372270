from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0002_retention"),
    ]

    operations = [
        migrations.AddField(
            model_name="seat",
            name="own_settings",
            field=models.BooleanField(default=False, verbose_name="the person set up the bank"),
        ),
    ]
