"""Back to a fresh installation, while nothing runs."""

from django.apps import apps
from django.db import connection, transaction

from deliveries.redis_client import redis_client
from endpoints.models import RetryPolicy
from endpoints.policies import SHIPPED
from tests import factories


def clear() -> None:
    """Empty our tables and Redis; of the retry policies, those that migrations ship stay."""
    name = connection.settings_dict["NAME"]
    assert name.startswith("test_"), f"{name} is not a database of tests"
    with transaction.atomic(), connection.cursor() as cursor:
        # Foreign keys are judged at the commit, so the order does not matter.
        for model in (model for app in ("deliveries", "endpoints") for model in apps.get_app_config(app).get_models()):
            if model is not RetryPolicy:
                cursor.execute(f'DELETE FROM "{model._meta.db_table}"')  # noqa: S608 - our own table names
        RetryPolicy.objects.exclude(name__in=[policy.name for policy in SHIPPED]).delete()
    for policy in SHIPPED:
        factories.ensure_policy(policy)
    redis_client().flushdb()
