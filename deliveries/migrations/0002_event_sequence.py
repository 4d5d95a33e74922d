"""The sequence behind `Event.sequence`, and room in the delivery table for its many updates."""

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("deliveries", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(
            "CREATE SEQUENCE deliveries_event_sequence AS bigint CACHE 1",
            "DROP SEQUENCE deliveries_event_sequence",
        ),
        # A delivery's row is written three times in its life: vacuum early and often, before the due index bloats.
        migrations.RunSQL(
            "ALTER TABLE deliveries_delivery SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0)",
            "ALTER TABLE deliveries_delivery RESET (fillfactor, autovacuum_vacuum_scale_factor,"
            " autovacuum_vacuum_threshold, autovacuum_vacuum_cost_delay)",
        ),
    ]
