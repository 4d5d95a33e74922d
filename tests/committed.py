"""Rows that are really committed, for tests that need a second connection, a worker or a broken database.

A test inside a transaction of its own cannot show any of these. `committed_db` lets a test commit and empties the tables
afterwards; the retry policies that migrations ship stay, which a flush would take away.
"""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from deliveries.redis_client import redis_client
from endpoints.models import RetryPolicy
from endpoints.policies import SHIPPED
from tests import factories

OUR_APPS = ("deliveries", "endpoints")


def clear() -> None:
    """Leave the database and Redis as a fresh installation has them."""
    with transaction.atomic(), connection.cursor() as cursor:
        # Foreign keys are judged at the commit, so the order does not matter.
        for model in (model for app in OUR_APPS for model in apps.get_app_config(app).get_models()):
            if model is not RetryPolicy:
                cursor.execute(f'DELETE FROM "{model._meta.db_table}"')  # noqa: S608 - our own table names
        RetryPolicy.objects.exclude(name__in=[policy.name for policy in SHIPPED]).delete()
    for policy in SHIPPED:
        factories.ensure_policy(policy)
    redis_client().flushdb()


@pytest.fixture
def committed_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test's statements are committed as it goes; everything is empty before and after."""
    with django_db_blocker.unblock():
        clear()
        yield
        # The test may have broken its connection on purpose.
        connection.close()
        clear()
        connection.close()
