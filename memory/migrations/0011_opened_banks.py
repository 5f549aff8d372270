"""Banks that their owners open to analysts, and the two questions that an analyst may ask of the database about them."""

from django.db import migrations, models

from memory.tenancy import ACTING_USER

# What is opened is told to nobody but a signed-in, active analyst, and never to the owner: one's own needs no door.
# An owner who may not sign in cannot close a bank: theirs count as closed.
OPENED = f"""
    FROM public.memory_bank b JOIN public.accounts_user o ON o.id = b.owner_id AND o.is_active
    WHERE public.agora_has_role('analyst') AND b.open_to_analysts AND b.owner_id <> {ACTING_USER}
"""
DOOR = migrations.RunSQL(
    f"""
    CREATE FUNCTION agora_opened_bank(thing uuid) RETURNS TABLE (bank uuid, owner uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT b.id, b.owner_id {OPENED} AND b.id = coalesce(
            (SELECT k.id FROM public.memory_bank k WHERE k.id = thing),
            (SELECT c.bank_id FROM public.memory_conversation c WHERE c.id = thing AND c.forgotten_until IS NULL),
            (SELECT m.bank_id FROM public.memory_memory m WHERE m.id = thing AND m.state <> 'forgotten'),
            (SELECT r.bank_id FROM public.memory_recall r JOIN public.memory_turn t ON t.id = r.turn_id
                JOIN public.memory_conversation c ON c.id = t.conversation_id
                WHERE r.id = thing AND c.forgotten_until IS NULL))
    $$;
    CREATE FUNCTION agora_opened_banks() RETURNS TABLE (bank uuid, owner uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT b.id, b.owner_id {OPENED} ORDER BY b.created_at, b.id
    $$;
    REVOKE ALL ON FUNCTION agora_opened_bank(uuid), agora_opened_banks() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_opened_bank(uuid), agora_opened_banks() TO agora_app;
    """,
    "DROP FUNCTION agora_opened_bank(uuid); DROP FUNCTION agora_opened_banks()",
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0010_labelling"),
    ]

    operations = [
        migrations.AddField(
            model_name="bank",
            name="open_to_analysts",
            field=models.BooleanField(db_default=False, default=False),
        ),
        DOOR,
    ]
