"""Makes people who are signed in, in the home that the environment names: python -m tests.flows.make_people COUNT

Prints a JSON list of {"email", "session"}; the first is the administrator of the first start.
"""

import json
import sys

import django


def main(count: int) -> None:
    django.setup()
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.hashers import make_password
    from django.contrib.sessions.backends.db import SessionStore

    from agora_web.accounts.models import User

    password = make_password("seven-brown-kettles")
    new = [
        User(email=f"person{n}@example.org", name=f"Robin {n}", time_zone="Europe/Lisbon", password=password)
        for n in range(count)
    ]
    User.objects.bulk_create(new)
    people = []
    for user in [User.objects.get(is_superuser=True), *new]:
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        people.append({"email": user.email, "session": session.session_key})
    print(json.dumps(people))


if __name__ == "__main__":
    main(int(sys.argv[1]))
