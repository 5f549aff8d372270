"""What PostgreSQL knows of how many rows are whose."""

from __future__ import annotations

from django.db import connection


def refresh_table_statistics() -> None:
    """Bring the planner's statistics of the memory tables up to date, as PostgreSQL's daemon does within a minute.

    Until then the planner takes somebody whose first thousands of rows have just come for somebody with none, and a
    page of 20,000 memories did not answer within 20 s. Takes half a second with so many; call it after much was
    written, in no transaction that lasts.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT agora_refresh_statistics()")
