"""Notices: what people are told, kept as rows so that none is lost and none is told twice."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone


class NoticeKind(models.TextChoices):
    """What happened. The same words, after `holdfast.`, are the type of the operational event."""

    WARNING = "endpoint.warning"
    RECOVERED = "endpoint.recovered"
    DISABLED = "endpoint.disabled"
    ENABLED = "endpoint.enabled"
    ARCHIVED = "endpoint.archived"
    AUTH_SPIKE = "endpoint.auth_spike"
    CERTIFICATE = "endpoint.certificate"
    DEAD_LETTERS = "dead_letters.depth"
    OLD_DEAD_LETTER = "dead_letters.age"
    UNREACHABLE = "pipeline.unreachable"
    STUCK = "pipeline.stuck"
    MOVING = "pipeline.moving"


class Notice(models.Model):
    """One transition, told over every channel that wants it.

    Written in the transaction of what it tells about, sent by a sweep: `not_before` is the lease of whoever sends it,
    and before that the time it waits to see whether the trouble lasts. `done_at` says that all channels have it. While
    `ended_at` is empty the trouble stands, and the same subject is not told about again.
    """

    kind = models.CharField(max_length=32, choices=NoticeKind)
    subject = models.CharField(
        max_length=64, help_text="What it is about: one trouble of one subject stands at a time."
    )
    endpoint = models.ForeignKey(
        "endpoints.Endpoint", on_delete=models.CASCADE, null=True, blank=True, related_name="notices"
    )
    threshold = models.PositiveIntegerField(null=True, blank=True, help_text="The one that was crossed.")
    title = models.CharField(max_length=200)
    text = models.TextField()
    facts = models.JSONField(default=dict, help_text="The data of the operational event.")
    owner_email = models.EmailField(blank=True, default="", help_text="The owner who is told; empty: none.")
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When the trouble was over.")
    not_before = models.DateTimeField(null=True, blank=True, help_text="Nobody sends it earlier.")
    logged_at = models.DateTimeField(null=True, blank=True)
    owner_mailed_at = models.DateTimeField(null=True, blank=True)
    operators_mailed_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["subject"], name="notice_stands_once_per_subject", condition=Q(ended_at__isnull=True)
            ),
            models.CheckConstraint(
                name="notice_kind_is_known", condition=Q(kind__in=[kind.value for kind in NoticeKind])
            ),
            models.CheckConstraint(name="notice_says_something", condition=~Q(title="") & ~Q(text="")),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="notice_unsent", condition=Q(done_at__isnull=True)),
            models.Index(fields=["kind", "-id"], name="notice_by_kind"),
            models.Index(fields=["created_at"], name="notice_by_age"),
            models.Index(
                fields=["operators_mailed_at"], name="notice_by_operators_mail", condition=~Q(operators_mailed_at=None)
            ),
            models.Index(
                fields=["owner_email", "owner_mailed_at"],
                name="notice_by_owners_mail",
                condition=~Q(owner_mailed_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.title}"
