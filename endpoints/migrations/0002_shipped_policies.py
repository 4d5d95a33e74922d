"""The retry policies a fresh installation has. Rows that are there already are left alone."""

from typing import Any, ClassVar

from django.db import migrations

MINUTE, HOUR, DAY = 60, 3_600, 86_400

EXPONENTIAL = {"kind": "exponential", "base_seconds": 30, "cap_seconds": 12 * HOUR, "schedule_seconds": []}
SCHEDULE = {"kind": "schedule", "base_seconds": 30, "cap_seconds": 12 * HOUR, "jitter": 0.1}

SHIPPED: dict[str, dict[str, Any]] = {
    "default": EXPONENTIAL | {"max_attempts": 16, "deadline_seconds": 3 * DAY},
    "six-step": SCHEDULE
    | {
        "schedule_seconds": [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 10 * HOUR, DAY],
        "max_attempts": 7,
        "deadline_seconds": 3 * DAY,
    },
    "stripe": EXPONENTIAL | {"max_attempts": 16, "deadline_seconds": 3 * DAY, "timeout_seconds": 20},
    "plaid": SCHEDULE
    | {
        "schedule_seconds": [30, 120, 480, 1_920, 7_680, 30_720],
        "max_attempts": 7,
        "deadline_seconds": DAY,
        "timeout_seconds": 15,
    },
    "modern-treasury": EXPONENTIAL | {"max_attempts": 20, "deadline_seconds": 7 * DAY, "timeout_seconds": 30},
    "adyen": EXPONENTIAL
    | {
        "base_seconds": 2 * MINUTE,
        "cap_seconds": 6 * HOUR,
        "max_attempts": 10,
        "deadline_seconds": DAY,
        "timeout_seconds": 30,
    },
}


def add_policies(apps: Any, _editor: Any) -> None:
    policies = apps.get_model("endpoints", "RetryPolicy").objects
    for name, values in SHIPPED.items():
        policies.get_or_create(name=name, defaults=values)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("endpoints", "0001_initial")]

    operations: ClassVar = [migrations.RunPython(add_policies, migrations.RunPython.noop)]
