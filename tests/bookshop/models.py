"""What handlers did. Nothing here is unique: an effect that happens twice is two rows."""

from typing import ClassVar

from django.db import models


class Effect(models.Model):
    """One run of a handler that was committed (or, in two phases, that reached the world outside)."""

    source = models.CharField(max_length=64)
    event_id = models.CharField(max_length=255)
    key = models.CharField(max_length=64)
    kind = models.CharField(max_length=16)

    # Named, as type checkers look up managers of installed applications only.
    objects: ClassVar["models.Manager[Effect]"] = models.Manager()

    class Meta:
        app_label = "bookshop"
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} of {self.event_id}"
