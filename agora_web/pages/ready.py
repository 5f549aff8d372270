"""Whether this process can serve: asked by whatever starts or balances it."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse

from agora_web.wiring import warm_up_in_background


def ready(request: HttpRequest) -> HttpResponse:
    """200 once the database answers, else 503 with the cause."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM memory_bank LIMIT 1")
    except DatabaseError:
        return HttpResponse("The database does not answer.\n", status=503, content_type="text/plain")
    warm_up_in_background()  # only now, so that it does not hold up the start
    return HttpResponse("ready\n", content_type="text/plain")
