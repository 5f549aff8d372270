"""How the features of what banks wrote lately lie in given bins: counts over all banks, for staff, nobody's rows.

Days are whole and kinds of fewer than 20 memories are left out, so that nobody is told from a difference of one.
"""

from django.db import migrations

WRITTEN = migrations.RunSQL(
    """
    CREATE FUNCTION agora_written_features(since timestamptz, bins jsonb, tools_from double precision)
    RETURNS TABLE (kind text, feature integer, bin integer, memories bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        WITH spoken AS (
            SELECT memory.bank_id AS bank, count(*) FILTER (WHERE memory.role = 'tool')::float8 / count(*) AS tools,
                count(*) FILTER (WHERE memory.role = 'other') AS others,
                count(*) FILTER (WHERE memory.role = 'assistant') AS assistants,
                coalesce((SELECT event.data ->> 'kind' FROM public.memory_event event
                          WHERE event.bank_id = memory.bank_id AND event.kind = 'configured'
                          ORDER BY event.seq DESC LIMIT 1), '') AS told
            FROM public.memory_memory memory GROUP BY memory.bank_id
        ), kinds AS (
            SELECT bank, CASE WHEN told IN ('two_people', 'user_assistant', 'tool_use') THEN told
                WHEN tools >= tools_from THEN 'tool_use' WHEN others > assistants THEN 'two_people'
                ELSE 'user_assistant' END AS kind
            FROM spoken
        ), recent AS (
            SELECT kinds.kind, memory.features, count(*) OVER (PARTITION BY kinds.kind) AS n
            FROM public.memory_memory memory JOIN kinds ON kinds.bank = memory.bank_id
            WHERE memory.written_at >= date_trunc('day', since) AND memory.state <> 'forgotten'
                AND jsonb_array_length(memory.features) > 0
        ), edges AS (
            SELECT of_kind.key AS kind, one.place,
                ARRAY(SELECT edge::integer FROM jsonb_array_elements_text(one.edges) edge) AS edges
            FROM jsonb_each(bins) of_kind
            CROSS JOIN LATERAL jsonb_array_elements(of_kind.value) WITH ORDINALITY one(edges, place)
        )
        SELECT recent.kind, edges.place::integer - 1,
            width_bucket(round(value.value::float8 * 1000)::integer, edges.edges), count(*)
        FROM recent
        CROSS JOIN LATERAL jsonb_array_elements_text(recent.features) WITH ORDINALITY value(value, place)
        JOIN edges ON edges.kind = recent.kind AND edges.place = value.place
        WHERE recent.n >= 20 AND (public.agora_has_role('operator') OR public.agora_has_role('administrator')
            OR public.agora_has_role('analyst'))
        GROUP BY 1, 2, 3
    $$;
    REVOKE ALL ON FUNCTION agora_written_features(timestamptz, jsonb, double precision) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_written_features(timestamptz, jsonb, double precision) TO agora_app;
    """,
    "DROP FUNCTION agora_written_features(timestamptz, jsonb, double precision)",
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0012_policy_lab"),
        ("training", "0007_judged_cues"),
    ]

    operations = [WRITTEN]
