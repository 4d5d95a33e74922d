from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # The index is built beside running doors and workers.
    atomic = False

    dependencies = [("inbox", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="deadletter",
            name="announced_at",
            field=models.DateTimeField(blank=True, help_text="When the operators were told.", null=True),
        ),
        # Nobody is mailed about what they have long seen.
        migrations.RunSQL("UPDATE inbox_deadletter SET announced_at = created_at", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="deadletter",
            index=models.Index(
                condition=models.Q(("announced_at__isnull", True)),
                fields=["id"],
                name="inbox_dead_letter_unannounced",
            ),
        ),
    ]
