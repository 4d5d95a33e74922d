"""The function that adds two arrays of counts, bucket by bucket, and the aggregate that adds many."""

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("deliveries", "0004_rollups")]

    operations: ClassVar = [
        # A shorter array lacks the newer buckets at its end: they count as 0.
        migrations.RunSQL(
            "CREATE FUNCTION holdfast_add_counts(one int[], other int[]) RETURNS int[] LANGUAGE sql IMMUTABLE AS"
            " $$ SELECT array_agg(coalesce(a, 0) + coalesce(b, 0) ORDER BY position)"
            " FROM unnest(one, other) WITH ORDINALITY AS bucket(a, b, position) $$",
            "DROP FUNCTION holdfast_add_counts(int[], int[])",
        ),
        migrations.RunSQL(
            "CREATE AGGREGATE holdfast_sum_counts(int[]) (SFUNC = holdfast_add_counts, STYPE = int[], INITCOND = '{}')",
            "DROP AGGREGATE holdfast_sum_counts(int[])",
        ),
        migrations.RunSQL(
            "ALTER TABLE deliveries_endpointspan SET (fillfactor = 50)",
            "ALTER TABLE deliveries_endpointspan RESET (fillfactor)",
        ),
    ]
