"""Back to a fresh installation, while nothing runs."""

from django.apps import apps
from django.db import connection, transaction

from deliveries.redis_client import redis_client
from endpoints.models import RetryPolicy
from endpoints.policies import SHIPPED
from tests import factories

APPS = ("deliveries", "inbox", "endpoints", "bookshop")


def clear() -> None:
    """Empty our tables and Redis; of the retry policies, those that migrations ship stay."""
    name = connection.settings_dict["NAME"]
    assert name.startswith("test_"), f"{name} is not a database of tests"
    with transaction.atomic(), connection.cursor() as cursor:
        # Foreign keys are judged at the commit, so the order does not matter.
        for model in (model for app in APPS for model in apps.get_app_config(app).get_models()):
            if model is not RetryPolicy:
                cursor.execute(f'DELETE FROM "{model._meta.db_table}"')  # noqa: S608 - our own table names
        RetryPolicy.objects.exclude(name__in=[policy.name for policy in SHIPPED]).delete()
    for policy in SHIPPED:
        factories.ensure_policy(policy)
    redis_client().flushdb()


def end_other_sessions() -> None:
    """End what killed processes left open: the server notices their death late, and drops no database in use."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
