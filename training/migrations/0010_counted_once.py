"""The counts of drift in one pass, and what tells whether they would be the same as before.

Every kind that is asked for is counted in the same pass, others not at all; a memory's features are read as one array.
What changes a count is an event of some bank, so the newest event of each says whether anything can have changed.
"""

from importlib import import_module

from django.db import migrations

BEFORE = import_module("training.migrations.0008_written_features").WRITTEN

WRITTEN = migrations.RunSQL(
    """
    CREATE OR REPLACE FUNCTION agora_written_features(since timestamptz, bins jsonb, tools_from double precision)
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
        ), recent AS MATERIALIZED (
            SELECT kinds.kind, translate(memory.features::text, '[]', '{}')::float8[] AS features
            FROM public.memory_memory memory JOIN kinds ON kinds.bank = memory.bank_id AND bins ? kinds.kind
            WHERE memory.written_at >= date_trunc('day', since) AND memory.state <> 'forgotten'
                AND jsonb_array_length(memory.features) > 0
                AND (public.agora_has_role('operator') OR public.agora_has_role('administrator')
                    OR public.agora_has_role('analyst'))
        ), enough AS (
            SELECT recent.kind FROM recent GROUP BY recent.kind HAVING count(*) >= 20
        ), valued AS (
            SELECT recent.kind, value.place, round(value.value * 1000)::integer AS value, count(*) AS n
            FROM recent JOIN enough ON enough.kind = recent.kind
            CROSS JOIN LATERAL unnest(recent.features) WITH ORDINALITY value(value, place)
            GROUP BY 1, 2, 3
        ), edges AS (
            SELECT of_kind.key AS kind, one.place,
                ARRAY(SELECT edge::integer FROM jsonb_array_elements_text(one.edges) edge) AS edges
            FROM jsonb_each(bins) of_kind
            CROSS JOIN LATERAL jsonb_array_elements(of_kind.value) WITH ORDINALITY one(edges, place)
        )
        SELECT valued.kind, edges.place::integer - 1, width_bucket(valued.value, edges.edges), sum(valued.n)::bigint
        FROM valued JOIN edges ON edges.kind = valued.kind AND edges.place = valued.place
        GROUP BY 1, 2, 3
    $$
    """,
    BEFORE.sql.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
)

STATE = migrations.RunSQL(
    """
    CREATE FUNCTION agora_written_state() RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT md5(coalesce(string_agg(bank.id::text || bank.last_seq::text, ',' ORDER BY bank.id), ''))
        FROM public.memory_bank bank
        WHERE public.agora_has_role('operator') OR public.agora_has_role('administrator')
            OR public.agora_has_role('analyst')
        HAVING public.agora_has_role('operator') OR public.agora_has_role('administrator')
            OR public.agora_has_role('analyst')
    $$;
    REVOKE ALL ON FUNCTION agora_written_state() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_written_state() TO agora_app;
    """,
    "DROP FUNCTION agora_written_state()",
)


class Migration(migrations.Migration):
    dependencies = [("training", "0009_behind_the_door")]

    operations = [WRITTEN, STATE]
