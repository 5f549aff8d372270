#!/usr/bin/env python
"""Django's command line; `up` alone goes by it, for what it starts has a Django of its own."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agora_web.settings")
    try:
        if sys.argv[1:] == ["up"]:
            from agora_web.starting import up

            sys.exit(up(sys.stdout, sys.stderr))
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # a setting that cannot be: the person needs the sentence, not the stack
        sys.exit(f"AGORA cannot start: {error}")
