"""The four roles, as groups with permissions. One person can have several; a superuser has them all."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission

# role -> permissions as (app label, codename)
ROLES: dict[str, tuple[tuple[str, str], ...]] = {
    "labeller": (
        ("memory", "view_memory"),
        ("training", "view_reviewitem"),
        ("training", "change_reviewitem"),  # settles what others disagree about
        ("training", "add_review"),
    ),
    "operator": (
        ("memory", "view_job"),
        ("memory", "change_job"),
        ("training", "view_trainingrun"),
        ("training", "add_trainingrun"),
        ("training", "change_trainingrun"),
        ("training", "view_rules"),
        ("training", "change_rules"),
        ("training", "view_promotion"),
        ("training", "add_promotion"),
        ("training", "view_label"),
    ),
    "analyst": (
        ("memory", "view_bank"),
        ("memory", "view_recall"),
        ("memory", "view_event"),
        ("training", "view_trainingrun"),
        ("training", "view_promotion"),
        ("training", "view_label"),
    ),
    "administrator": (
        ("agents", "view_agent"),
        ("agents", "add_agent"),
        ("agents", "change_agent"),
        ("memory", "view_job"),
        ("memory", "change_job"),
        ("training", "view_rules"),
        ("training", "change_rules"),
        ("training", "view_label"),
        ("accounts", "view_user"),
        ("accounts", "change_user"),
        ("training", "view_trainingrun"),
        ("training", "add_trainingrun"),
        ("training", "change_trainingrun"),
        ("training", "view_promotion"),
        ("training", "add_promotion"),
        ("training", "view_reviewitem"),
        ("training", "change_reviewitem"),
    ),
}


def ensure_roles(app_label: str, *, using: str) -> None:
    """Make the groups and give them one app's permissions; safe to repeat after every migration."""
    for role, wanted in ROLES.items():
        codenames = [codename for app, codename in wanted if app == app_label]
        if not codenames:
            continue
        group, _ = Group.objects.using(using).get_or_create(name=role)
        group.permissions.add(
            *Permission.objects.using(using).filter(content_type__app_label=app_label, codename__in=codenames)
        )
