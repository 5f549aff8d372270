"""Services a laptop lacks: embedded PostgreSQL, Valkey and demo LLM, and the supervisor of `manage.py up`."""
