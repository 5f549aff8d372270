from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0003_own_settings"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="labelling",
            field=models.BooleanField(default=False, verbose_name="open new conversations to labelling"),
        ),
    ]
