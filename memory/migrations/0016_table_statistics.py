"""A function that brings the planner's statistics of the memory tables up to date; only their owner may do so itself."""

from django.db import migrations

FUNCTION = migrations.RunSQL(
    """
    CREATE FUNCTION agora_refresh_statistics() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    BEGIN
        ANALYZE public.memory_conversation, public.memory_turn, public.memory_memory, public.memory_memorysource,
            public.memory_posting, public.memory_event, public.memory_recall;
    END
    $$;
    REVOKE ALL ON FUNCTION agora_refresh_statistics() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_refresh_statistics() TO agora_app, agora_worker, agora_owner;
    """,
    "DROP FUNCTION agora_refresh_statistics()",
)


class Migration(migrations.Migration):
    dependencies = [("memory", "0015_one_reference")]

    operations = [FUNCTION]
