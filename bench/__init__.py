"""The figures that AGORA claims, one command each: `python -m bench NAME --json FILE`."""
