"""A bank's owner writes the step that changed the bank, and staff may count which adapter serves how many banks."""

from django.db import migrations

from memory.tenancy import ACTING_USER

MINE = f"owner_id = {ACTING_USER}"
# The change of a bank and the note that it is done commit together, as the bank's owner.
STEPS = migrations.RunSQL(
    "CREATE POLICY training_bankstep_owner ON training_bankstep "
    f"FOR UPDATE TO agora_app USING ({MINE}) WITH CHECK ({MINE})",
    "DROP POLICY training_bankstep_owner ON training_bankstep",
)
# Numbers alone: staff read nobody's bank.
COUNTS = migrations.RunSQL(
    """
    CREATE FUNCTION agora_banks_by_adapter() RETURNS TABLE (adapter text, banks bigint, own bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT coalesce(CASE WHEN v.manifest->>'kind' = 'own' THEN v.parent_id ELSE b.adapter END, ''),
               count(*), count(*) FILTER (WHERE v.manifest->>'kind' = 'own')
        FROM public.memory_bank b LEFT JOIN public.memory_adapterversion v ON v.version = b.adapter
        WHERE public.agora_has_role('operator') OR public.agora_has_role('administrator')
           OR public.agora_has_role('analyst')
        GROUP BY 1
    $$;
    REVOKE ALL ON FUNCTION agora_banks_by_adapter() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_banks_by_adapter() TO agora_app, agora_owner;
    """,
    "DROP FUNCTION agora_banks_by_adapter()",
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0009_serving_and_receipts"),
        ("training", "0004_judged"),
    ]

    operations = [STEPS, COUNTS]
