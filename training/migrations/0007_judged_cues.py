"""Snapshots name the turns whose cues they hold, and staff may count how much is known of what fits a cue."""

from django.db import migrations, models

# Only what a run can learn from: the memory stands in the trace, whose numbers are all that is frozen of it.
JUDGED = migrations.RunSQL(
    """
    CREATE FUNCTION agora_judged_cues() RETURNS TABLE (asking boolean, judgements bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT recall.asking, count(DISTINCT (label.recall_id, label.memory_id))
        FROM public.training_label label JOIN public.memory_recall recall ON recall.id = label.recall_id
        JOIN public.memory_turn turn ON turn.id = recall.turn_id
        JOIN public.memory_conversation talk ON talk.id = turn.conversation_id
        WHERE label.about = 'relevance' AND label.weight > 0 AND label.memory_id = ANY (recall.memories)
            AND talk.forgotten_until IS NULL
            AND (public.agora_has_role('operator') OR public.agora_has_role('administrator')
                OR public.agora_has_role('analyst'))
        GROUP BY recall.asking
    $$;
    REVOKE ALL ON FUNCTION agora_judged_cues() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_judged_cues() TO agora_app;
    """,
    "DROP FUNCTION agora_judged_cues()",
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0009_serving_and_receipts"),
        ("training", "0006_other_sources"),
    ]

    operations = [
        migrations.AddField("snapshot", "turns", models.JSONField(default=list)),
        JUDGED,
    ]
