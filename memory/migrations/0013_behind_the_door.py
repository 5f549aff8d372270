"""What the analyst's door shows: the rows of the opened bank, to a role of its own that may read nothing else."""

from django.db import migrations

from memory.tenancy import DOOR_BANK, behind_door

ROLE = migrations.RunSQL(
    """
    DO $$ BEGIN
        IF to_regrole('agora_analyst') IS NULL THEN
            RAISE EXCEPTION 'The role agora_analyst is missing on this server. Run `manage.py prepare` as before, with a '
                'superuser in DATABASE_URL: it makes the role.';
        END IF;
    END $$
    """,
    migrations.RunSQL.noop,
)
# Who named a bank in the setting is asked again at every statement: what is closed in between shows nothing any more.
BANK = migrations.RunSQL(
    """
    CREATE FUNCTION agora_bank_behind_door() RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT o.bank FROM public.agora_opened_bank(nullif(current_setting('agora.bank', true), '')::uuid) o
    $$;
    REVOKE ALL ON FUNCTION agora_bank_behind_door() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_bank_behind_door() TO agora_analyst;
    """,
    "DROP FUNCTION agora_bank_behind_door()",
)
# Of people no more than in which zone they live, for the dates in what was sent; the other two are nobody's.
SHARED = migrations.RunSQL(
    [
        "GRANT SELECT (id, time_zone) ON accounts_user TO agora_analyst",
        "GRANT SELECT ON memory_encoderspace, memory_adapterversion TO agora_analyst",
    ],
    [
        "REVOKE SELECT (id, time_zone) ON accounts_user FROM agora_analyst",
        "REVOKE SELECT ON memory_encoderspace, memory_adapterversion FROM agora_analyst",
    ],
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0012_policy_lab"),
    ]

    operations = [
        ROLE,
        BANK,
        SHARED,
        behind_door("memory_bank", f"id = {DOOR_BANK}"),
        *(
            behind_door(f"memory_{name}")
            for name in ("event", "conversation", "memory", "posting", "recall", "doubt", "erasure")
        ),
        behind_door("memory_turn", "EXISTS (SELECT FROM memory_conversation c WHERE c.id = conversation_id)"),
        behind_door("memory_memorysource", "EXISTS (SELECT FROM memory_memory m WHERE m.id = memory_id)"),
    ]
