"""People who use the admin, each with exactly the permissions a test names."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

_numbers = count(1)

VIEW_ALL = (
    *(f"deliveries.view_{name}" for name in ("attempt", "deadletter", "delivery", "event", "notice", "operation")),
    "endpoints.view_endpoint",
    "endpoints.view_statechange",
)


@pytest.fixture(autouse=True)
def no_collected_files(settings: Any, tmp_path: Path) -> None:
    """WhiteNoise warns when nobody has run collectstatic."""
    settings.STATIC_ROOT = str(tmp_path)


@pytest.fixture
def signed_in(db: None, empty_redis: None) -> Callable[..., Client]:
    """A signed-in colleague: `signed_in("deliveries.redrive_deadletter")` may look at everything and redrive."""

    def sign_in(*permissions: str, name: str = "") -> Client:
        user = User.objects.create_user(name or f"colleague-{next(_numbers)}", is_staff=True)
        for permission in (*VIEW_ALL, *permissions):
            app, _, codename = permission.partition(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def operator(db: None, empty_redis: None) -> Client:
    """Nora, who may do everything."""
    client = Client()
    client.force_login(User.objects.create_superuser("nora"))
    return client
