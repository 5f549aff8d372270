"""How many judgements there are, as numbers: staff see when a training run has enough, and nobody's rows."""

from django.db import migrations

JUDGED = migrations.RunSQL(
    """
    CREATE FUNCTION agora_judged() RETURNS TABLE (judgements bigint, kind text, roles text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT
            judged.n,
            coalesce((SELECT event.data ->> 'kind' FROM public.memory_event event
                      WHERE event.bank_id = judged.bank AND event.kind = 'configured'
                      ORDER BY event.seq DESC LIMIT 1), ''),
            (SELECT jsonb_object_agg(written.role, written.n)::text FROM (
                SELECT memory.role, count(*) AS n FROM public.memory_memory memory
                WHERE memory.bank_id = judged.bank GROUP BY memory.role) written)
        FROM (
            SELECT memory.bank_id AS bank, count(DISTINCT (label.memory_id, label.other_id)) AS n
            FROM public.training_label label JOIN public.memory_memory memory ON memory.id = label.memory_id
            WHERE label.about = 'importance' AND label.weight > 0 GROUP BY memory.bank_id) judged
        WHERE public.agora_has_role('operator') OR public.agora_has_role('administrator')
            OR public.agora_has_role('analyst')
    $$;
    REVOKE ALL ON FUNCTION agora_judged() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_judged() TO agora_app;
    """,
    "DROP FUNCTION agora_judged()",
)


class Migration(migrations.Migration):
    dependencies = [
        ("training", "0003_queue_at_work"),
    ]

    operations = [JUDGED]
