"""The log of looks, and the function by which an analyst leaves a line in it without seeing it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from memory.tenancy import ACTING_USER, owned_table

# Django would empty the column as whoever deletes the account, who sees no row of the owner's.
GONE = migrations.RunSQL(
    "ALTER TABLE memory_look ADD CONSTRAINT memory_look_analyst FOREIGN KEY (analyst_id) "
    "REFERENCES accounts_user (id) ON DELETE SET NULL",
    "ALTER TABLE memory_look DROP CONSTRAINT memory_look_analyst",
)
# It writes of the acting user alone, and only of banks that are open to them now; it answers how many these were.
LOOKED = migrations.RunSQL(
    f"""
    CREATE FUNCTION agora_looked(banks uuid[], pages integer, exports integer) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        WITH written AS (
            INSERT INTO public.memory_look AS l
                (owner_id, bank_id, analyst_id, day, first, last, pages, exports)
            SELECT u.id, o.bank, {ACTING_USER}, (clock_timestamp() AT TIME ZONE u.time_zone)::date,
                clock_timestamp(), clock_timestamp(), $2, $3
            FROM public.agora_opened_banks() o JOIN public.accounts_user u ON u.id = o.owner
            WHERE o.bank = ANY($1) ORDER BY o.bank
            ON CONFLICT (bank_id, analyst_id, day) DO UPDATE SET
                last = excluded.last, pages = l.pages + excluded.pages, exports = l.exports + excluded.exports
            RETURNING 1)
        SELECT count(*) FROM written
    $$;
    REVOKE ALL ON FUNCTION agora_looked(uuid[], integer, integer) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_looked(uuid[], integer, integer) TO agora_app;
    """,
    "DROP FUNCTION agora_looked(uuid[], integer, integer)",
)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0013_behind_the_door"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Look",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("day", models.DateField()),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("pages", models.PositiveIntegerField(default=0)),
                ("exports", models.PositiveIntegerField(default=0)),
                (
                    "analyst",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "bank",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="looks",
                        to="memory.bank",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-last"],
                "constraints": [
                    models.UniqueConstraint(fields=("bank", "analyst", "day"), name="one_look_a_day"),
                ],
            },
        ),
        GONE,
        owned_table("memory_look"),
        LOOKED,
    ]
