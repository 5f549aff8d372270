from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0003_traces_as_arrays"),
    ]

    operations = [
        migrations.AddField(
            model_name="bank",
            name="adapter",
            field=models.CharField(blank=True, default="", max_length=80, verbose_name="adapter"),
        ),
    ]
