"""Open dead letters are counted by class from an index alone; built while workers run."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("deliveries", "0011_totals"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="deadletter",
            index=models.Index(
                condition=models.Q(("resolution", "open")), fields=["failure_class"], name="dead_letter_open_by_class"
            ),
        ),
    ]
