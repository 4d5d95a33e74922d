"""Fetched objects: since when what we hold of a provider's object is known to be right."""

from typing import ClassVar

from django.db import models


class FetchedObject(models.Model):
    """When the last applied fetch of one object began. Events that arrived before need no fetch of their own."""

    source = models.ForeignKey("inbox.Source", on_delete=models.CASCADE, related_name="fetched", db_index=False)
    key = models.CharField(max_length=255)
    fetched_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "key"], name="fetched_object_once_per_source_and_key"),
        ]
        indexes: ClassVar = [models.Index(fields=["fetched_at"], name="fetched_object_by_age")]

    def __str__(self) -> str:
        return f"{self.key} at {self.fetched_at:%Y-%m-%d %H:%M:%S}"
