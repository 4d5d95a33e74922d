"""The oldest unfinished event of a source is one look at an index; built while workers run."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("inbox", "0003_tallies"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="receivedevent",
            index=models.Index(
                condition=models.Q(("status__in", ["received", "processing"])),
                fields=["source", "received_at"],
                name="received_event_unfinished",
            ),
        ),
    ]
