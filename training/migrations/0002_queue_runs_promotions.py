"""The labelling queue, training runs and promotions, and who may read them."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import ruled_table

STAFF = "{is:operator} OR {is:administrator}"
ANSWERS = (
    "by_id = {me} AND {is:labeller} AND EXISTS (SELECT 1 FROM training_reviewitem item "
    "WHERE item.id = item_id AND item.owner_id = training_review.owner_id)"
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0006_trained_adapters"),
        ("training", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BankStep",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "waits"), ("done", "done"), ("undone", "undone"), ("failed", "failed")],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("applied", models.JSONField(default=dict)),
                ("rescored", models.PositiveIntegerField(default=0)),
                ("left", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Promotion",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "mode",
                    models.CharField(
                        choices=[("serve", "serves"), ("shadow", "scores silently beside what serves")],
                        default="serve",
                        max_length=8,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("automatic", models.BooleanField(default=False)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-at"],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("value", models.FloatField(null=True)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="ReviewItem",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "mode",
                    models.CharField(
                        choices=[("rate", "rate one side"), ("compare", "choose between two")], max_length=8
                    ),
                ),
                (
                    "chosen",
                    models.CharField(
                        choices=[
                            ("uncertain", "the adapter is unsure of it"),
                            ("leaving", "it is near to leaving its bank"),
                            ("random", "at random"),
                        ],
                        max_length=10,
                    ),
                ),
                ("wanted", models.PositiveIntegerField(default=1)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "open"),
                            ("done", "done"),
                            ("disputed", "disputed"),
                            ("resolved", "resolved"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("hidden", models.BooleanField(default=False)),
                ("shown", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Rules",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                (
                    "promote",
                    models.CharField(
                        choices=[
                            ("manual", "an operator decides"),
                            ("shadow", "what is better first scores silently, then an operator decides"),
                            ("automatic", "what is better serves at once"),
                        ],
                        default="manual",
                        max_length=10,
                    ),
                ),
                ("confidence", models.FloatField(default=0.95)),
                ("most_lost", models.FloatField(default=0.02)),
                ("least_labels", models.PositiveIntegerField(default=100)),
                ("retrain_after", models.PositiveIntegerField(default=0)),
                ("share_uncertain", models.FloatField(default=0.4)),
                ("share_leaving", models.FloatField(default=0.3)),
                ("share_random", models.FloatField(default=0.3)),
                ("reviews_wanted", models.PositiveSmallIntegerField(default=1)),
                ("counterfactuals_a_day", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="ShadowScore",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("seq", models.PositiveBigIntegerField()),
                ("kind", models.CharField(max_length=10)),
                ("champion", models.FloatField()),
                ("challenger", models.FloatField()),
                ("same", models.BooleanField(null=True)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                ("rows", models.BinaryField()),
                ("about", models.JSONField(default=dict)),
                ("memories", models.JSONField(default=list)),
                ("erased", models.PositiveIntegerField(default=0)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="TrainingRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("trigger", models.CharField(default="asked", max_length=20)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "waits"),
                            ("running", "runs"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("seed", models.PositiveIntegerField(default=1)),
                ("from_scratch", models.BooleanField(default=False)),
                ("stage", models.CharField(blank=True, max_length=20)),
                ("progress", models.FloatField(default=0.0)),
                ("curves", models.JSONField(default=dict)),
                ("report", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="label",
            name="one_judgement_each",
        ),
        migrations.AddField(
            model_name="label",
            name="other",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.memory"
            ),
        ),
        migrations.AlterField(
            model_name="label",
            name="source",
            field=models.CharField(
                choices=[
                    ("queue", "labelling queue"),
                    ("action", "useful, outdated or wrong, said of a memory's row"),
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
        migrations.AddConstraint(
            model_name="label",
            constraint=models.UniqueConstraint(
                fields=("memory", "about", "source", "by", "recall", "other"),
                name="one_judgement_each",
                nulls_distinct=False,
            ),
        ),
        migrations.AddField(
            model_name="bankstep",
            name="bank",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.bank"),
        ),
        migrations.AddField(
            model_name="bankstep",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="promotion",
            name="adapter",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="memory.adapterversion"
            ),
        ),
        migrations.AddField(
            model_name="promotion",
            name="by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="promotion",
            name="former",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="memory.adapterversion"
            ),
        ),
        migrations.AddField(
            model_name="promotion",
            name="undone_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="bankstep",
            name="promotion",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="training.promotion"
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="label",
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="training.label"
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="bank",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.bank"),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="memory",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.memory"),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="other",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.memory"
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="item",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="reviews", to="training.reviewitem"
            ),
        ),
        migrations.AddConstraint(
            model_name="rules",
            constraint=models.CheckConstraint(condition=models.Q(("id", 1)), name="one_row_of_rules"),
        ),
        migrations.AddConstraint(
            model_name="rules",
            constraint=models.CheckConstraint(
                condition=models.Q(("share_leaving__gte", 0), ("share_random__gte", 0), ("share_uncertain__gte", 0)),
                name="shares_not_negative",
            ),
        ),
        migrations.AddField(
            model_name="shadowscore",
            name="bank",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.bank"),
        ),
        migrations.AddField(
            model_name="shadowscore",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="shadowscore",
            name="promotion",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="scores", to="training.promotion"
            ),
        ),
        migrations.AddField(
            model_name="trainingrun",
            name="asked_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="trainingrun",
            name="challenger",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="memory.adapterversion"
            ),
        ),
        migrations.AddField(
            model_name="trainingrun",
            name="champion",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="memory.adapterversion"
            ),
        ),
        migrations.AddField(
            model_name="trainingrun",
            name="snapshot",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="training.snapshot"
            ),
        ),
        migrations.AddField(
            model_name="promotion",
            name="run",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="promotions",
                to="training.trainingrun",
            ),
        ),
        migrations.AddConstraint(
            model_name="bankstep",
            constraint=models.UniqueConstraint(fields=("promotion", "bank"), name="one_step_a_bank"),
        ),
        migrations.AddIndex(
            model_name="reviewitem",
            index=models.Index(condition=models.Q(("state", "open")), fields=["created_at"], name="review_open"),
        ),
        migrations.AddConstraint(
            model_name="reviewitem",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "open")),
                fields=("memory", "other"),
                name="asked_once_at_a_time",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(fields=("item", "by"), name="one_review_a_labeller"),
        ),
        migrations.AddConstraint(
            model_name="shadowscore",
            constraint=models.UniqueConstraint(fields=("promotion", "bank", "seq"), name="shadowed_once"),
        ),
        migrations.AddConstraint(
            model_name="trainingrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["pending", "running"])), fields=("state",), name="one_run_a_state"
            ),
        ),
        # The texts of an item are masked. A labeller answers; what follows from answers is written as the memory's owner.
        ruled_table(
            "training_reviewitem",
            "FOR ALL USING (owner_id = {me}) WITH CHECK (owner_id = {me})",
            "FOR SELECT USING (NOT hidden AND {is:labeller})",
            worker="SELECT",
        ),
        ruled_table(
            "training_review",
            "FOR SELECT USING (owner_id = {me} OR {is:labeller})",
            f"FOR INSERT WITH CHECK ({ANSWERS})",
            f"FOR UPDATE USING (by_id = {{me}} AND {{is:labeller}}) WITH CHECK ({ANSWERS})",
            "FOR DELETE USING (owner_id = {me} OR (by_id = {me} AND {is:labeller}))",
            worker="SELECT",
        ),
        *(
            ruled_table(
                table, "FOR SELECT USING (owner_id = {me} OR {is:operator} OR {is:administrator} OR {is:analyst})"
            )
            for table in ("training_bankstep", "training_shadowscore")
        ),
        *(
            ruled_table(
                table,
                "FOR SELECT USING ({is:operator} OR {is:administrator} OR {is:analyst})",
                f"FOR INSERT WITH CHECK ({STAFF})",
                f"FOR UPDATE USING ({STAFF}) WITH CHECK ({STAFF})",
            )
            for table in ("training_snapshot", "training_trainingrun", "training_promotion")
        ),
        ruled_table(
            "training_rules",
            "FOR SELECT USING ({me} IS NOT NULL)",
            f"FOR INSERT WITH CHECK ({STAFF})",
            f"FOR UPDATE USING ({STAFF}) WITH CHECK ({STAFF})",
        ),
    ]
