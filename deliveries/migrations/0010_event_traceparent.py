from django.db import migrations, models


class Migration(migrations.Migration):
    # Nullable and without a default: no row is rewritten, and code that does not know the column goes on inserting.

    dependencies = [("deliveries", "0009_endpoint_certificate")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="traceparent",
            field=models.CharField(
                blank=True,
                editable=False,
                help_text="The trace it was published in, where OpenTelemetry is in use.",
                max_length=55,
                null=True,
            ),
        ),
    ]
