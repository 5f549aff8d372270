"""The labelling queue at work: what a word of the owner hides at once, and who may answer, settle and set it in motion."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import ACTING_USER

LABELLER, ADMINISTRATOR = "agora_has_role('labeller')", "agora_has_role('administrator')"
EITHER = f"({LABELLER} OR {ADMINISTRATOR})"
ITEM = "SELECT 1 FROM training_reviewitem item WHERE item.id = item_id AND item.owner_id = training_review.owner_id"
BEFORE = f"by_id = {ACTING_USER} AND {LABELLER} AND EXISTS ({ITEM})"
# Judgements by labellers, until it is settled for good; the word that settles what is disputed, by administrators too.
NOW = (
    f"by_id = {ACTING_USER} AND ({LABELLER} OR (resolves AND {ADMINISTRATOR})) AND EXISTS ({ITEM} AND NOT item.hidden "
    "AND CASE WHEN resolves THEN item.state = 'disputed' ELSE item.state <> 'resolved' END)"
)

POLICIES = migrations.RunSQL(
    [
        f"ALTER POLICY training_reviewitem_2 ON training_reviewitem USING (NOT hidden AND {EITHER})",
        f"ALTER POLICY training_review_1 ON training_review USING (owner_id = {ACTING_USER} OR {EITHER})",
        f"ALTER POLICY training_review_2 ON training_review WITH CHECK ({NOW})",
        f"ALTER POLICY training_review_3 ON training_review USING (by_id = {ACTING_USER} AND {EITHER}) WITH CHECK ({NOW})",
        f"ALTER POLICY training_review_4 ON training_review USING (owner_id = {ACTING_USER} "
        f"OR (by_id = {ACTING_USER} AND {EITHER}))",
        # The one thing that an answer sets in motion among another person's rows: that person's own job.
        f"CREATE POLICY memory_job_of_answers ON memory_job FOR INSERT TO agora_app WITH CHECK ({EITHER} "
        "AND kind = 'training.settle' AND EXISTS (SELECT 1 FROM training_reviewitem item "
        "WHERE item.id::text = split_part(key, ':', 1) AND item.owner_id = memory_job.owner_id))",
    ],
    [
        "DROP POLICY memory_job_of_answers ON memory_job",
        f"ALTER POLICY training_review_4 ON training_review USING (owner_id = {ACTING_USER} "
        f"OR (by_id = {ACTING_USER} AND {LABELLER}))",
        f"ALTER POLICY training_review_3 ON training_review USING (by_id = {ACTING_USER} AND {LABELLER}) "
        f"WITH CHECK ({BEFORE})",
        f"ALTER POLICY training_review_2 ON training_review WITH CHECK ({BEFORE})",
        f"ALTER POLICY training_review_1 ON training_review USING (owner_id = {ACTING_USER} OR {LABELLER})",
        f"ALTER POLICY training_reviewitem_2 ON training_reviewitem USING (NOT hidden AND {LABELLER})",
    ],
)


def trigger(name: str, table: str, when: str, body: str) -> migrations.RunSQL:
    """A trigger that keeps the queue to what may be shown. It runs as whoever changed the row: its owner."""
    return migrations.RunSQL(
        [
            f"CREATE FUNCTION agora_queue_{name}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {body} RETURN NULL; END $$",
            f"CREATE TRIGGER queue_{name} {when.format(table=table)} EXECUTE FUNCTION agora_queue_{name}()",
        ],
        [f"DROP TRIGGER queue_{name} ON {table}", f"DROP FUNCTION agora_queue_{name}()"],
    )


HIDE = "UPDATE public.training_reviewitem SET hidden = true WHERE NOT hidden AND "
GONE = (
    "DELETE FROM public.training_review WHERE item_id IN (SELECT id FROM public.training_reviewitem WHERE {which}); "
    "DELETE FROM public.training_reviewitem WHERE {which};"
)
TRIGGERS = [
    trigger(
        "memory_hidden", "memory_memory",
        "AFTER UPDATE OF state, archive_reason ON {table} FOR EACH ROW WHEN ("
        "(NEW.state = 'forgotten' AND OLD.state <> 'forgotten') "
        "OR (NEW.archive_reason = 'withdrawn' AND OLD.archive_reason <> 'withdrawn'))",
        f"{HIDE} bank_id = NEW.bank_id AND (memory_id = NEW.id OR other_id = NEW.id OR NEW.turn_id = ANY(turns));",
    ),
    trigger(
        "memory_gone", "memory_memory", "AFTER DELETE ON {table} FOR EACH ROW",
        GONE.format(which="bank_id = OLD.bank_id AND OLD.turn_id = ANY(turns)"),
    ),
    trigger(
        "conversation_hidden", "memory_conversation",
        "AFTER UPDATE OF labelling, forgotten_until ON {table} FOR EACH ROW WHEN ("
        "NEW.labelling NOT IN ('owner', 'agent') OR NEW.forgotten_until IS NOT NULL)",
        f"{HIDE} bank_id = NEW.bank_id AND NEW.id = ANY(conversations);",
    ),
    trigger(
        "conversation_gone", "memory_conversation", "AFTER DELETE ON {table} FOR EACH ROW",
        GONE.format(which="bank_id = OLD.bank_id AND OLD.id = ANY(conversations)"),
    ),
    trigger(
        "turn_hidden", "memory_turn",
        "AFTER UPDATE OF replaced_at ON {table} FOR EACH ROW WHEN (NEW.replaced_at IS NOT NULL)",
        f"{HIDE} owner_id = NEW.owner_id AND NEW.id = ANY(turns);",
    ),
]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0010_labelling"),
        ("training", "0002_queue_runs_promotions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # Without their author two labels of one memory could not be told apart; the author's reviews go too.
        migrations.AlterField(
            model_name="label",
            name="by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RemoveField(model_name="review", name="label"),
        migrations.AddField(model_name="review", name="resolves", field=models.BooleanField(default=False)),
        migrations.AddField(
            model_name="reviewitem",
            name="turns",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="conversations",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
        ),
        POLICIES,
        *TRIGGERS,
    ]
