"""Endpoints: where a tenant's events go, and how fast."""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from endpoints import signing
from endpoints.addressing import UnusableURL, canonical_url
from endpoints.certificates import ca_fault
from endpoints.conf import allowed_networks
from endpoints.custom_headers import header_fault
from endpoints.matching import pattern_fault
from endpoints.models.retry_policy import RetryPolicy
from endpoints.models.signing_secret import SigningSecret
from endpoints.thresholds import threshold_fault
from vault.encryption import EncryptedJSONField


class State(models.TextChoices):
    """Active endpoints receive. Paused (by a person) and disabled (by a rule or a person) ones hold their deliveries.

    Archived ones get no new deliveries and never come back. `endpoints.availability` makes every move.
    """

    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"
    ARCHIVED = "archived"


def every_event() -> list[str]:
    return ["*"]


def host_of(url: str) -> str:
    """Scheme, host and port of a URL."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"


class Endpoint(models.Model):
    """A URL that receives events, and the pace it asked for."""

    tenant = models.CharField(max_length=128, blank=True, default="", help_text="Receives this tenant's events only.")
    url = models.CharField(max_length=2048, help_text="http or https; redirects are not followed.")
    description = models.CharField(max_length=200, blank=True, default="")
    owner_email = models.EmailField(blank=True, default="", help_text="Told about dead letters and trouble.")
    event_types = ArrayField(
        models.CharField(max_length=130),
        default=every_event,
        help_text="Patterns separated by commas: payment.completed, payment.* or *.",
    )
    state = models.CharField(max_length=16, choices=State, default=State.ACTIVE, editable=False)
    state_reason = models.TextField(blank=True, default="", editable=False)
    state_changed_at = models.DateTimeField(default=timezone.now, editable=False)
    state_changed_by = models.CharField(max_length=150, blank=True, default="", editable=False)
    rate_limit_per_second = models.FloatField(null=True, blank=True, help_text="Requests a second; empty: no limit.")
    max_concurrency = models.PositiveIntegerField(default=8, help_text="Requests in flight at once, 1 to 100.")
    timeout_seconds = models.PositiveIntegerField(default=5, help_text="Total time of one request, 1 to 30 s.")
    retry_policy = models.ForeignKey(
        RetryPolicy, on_delete=models.PROTECT, null=True, blank=True, help_text="Empty: the policy named default."
    )
    ordered = models.BooleanField(default=False, help_text="One request at a time, in strict sequence.")
    dead_letter_blocks = models.BooleanField(
        default=True,
        help_text="Ordered only: an open dead letter holds everything behind it; otherwise it steps aside.",
    )
    headers = EncryptedJSONField(
        default=dict, blank=True, help_text="Extra request headers, stored encrypted, their values never shown again."
    )
    ca_certificate = models.TextField(
        blank=True, default="", help_text="PEM of a private certificate authority to trust instead of the public ones."
    )
    health_thresholds = models.JSONField(
        default=dict,
        db_default=models.Value({}, output_field=models.JSONField()),
        blank=True,
        help_text=(
            "This endpoint's own thresholds: warn_below and disable_below (shares), silent_minutes, least_samples, "
            "probe_minutes, certificate_days. Empty: those of the settings."
        ),
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        permissions: ClassVar = [
            ("change_endpoint_state", "Can pause, disable, re-enable and archive endpoints"),
            ("reveal_signing_secret", "Can reveal, rotate and revoke signing secrets"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant"], name="endpoint_subscribers", condition=~Q(state="archived")),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="endpoint_state_is_known", condition=Q(state__in=["active", "paused", "disabled", "archived"])
            ),
            models.CheckConstraint(name="endpoint_url_is_not_empty", condition=~Q(url="")),
            models.CheckConstraint(name="endpoint_subscribes_to_something", condition=Q(event_types__len__gte=1)),
            models.CheckConstraint(
                name="endpoint_rate_limit_is_positive",
                condition=Q(rate_limit_per_second__isnull=True)
                | Q(rate_limit_per_second__gt=0, rate_limit_per_second__lte=10_000),
            ),
            models.CheckConstraint(
                name="endpoint_concurrency_is_1_to_100", condition=Q(max_concurrency__range=(1, 100))
            ),
            models.CheckConstraint(name="endpoint_timeout_is_1_to_30_s", condition=Q(timeout_seconds__range=(1, 30))),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.host}"

    @property
    def host(self) -> str:
        """Scheme, host and port: what may be logged. For many services the path or the query is the credential."""
        return host_of(self.url)

    @property
    def policy(self) -> RetryPolicy:
        """The retry policy in force."""
        return self.retry_policy or RetryPolicy.default()

    def clean(self) -> None:
        faults: dict[str, str] = {}
        try:
            self.url = canonical_url(self.url, allowed_networks=allowed_networks())
        except UnusableURL as error:
            faults["url"] = str(error)
        if fault := _event_types_fault(self.event_types):
            faults["event_types"] = fault
        if fault := _headers_fault(self.headers):
            faults["headers"] = fault
        self.ca_certificate = (self.ca_certificate or "").strip()
        if fault := ca_fault(self.ca_certificate):
            faults["ca_certificate"] = fault
        if fault := threshold_fault(self.health_thresholds):
            faults["health_thresholds"] = fault
        faults |= self._pace_faults()
        if faults:
            raise ValidationError(dict(faults))

    def _pace_faults(self) -> dict[str, str]:
        faults = {}
        if not 1 <= (self.max_concurrency or 0) <= 100:
            faults["max_concurrency"] = "Between 1 and 100 requests in flight."
        if not 1 <= (self.timeout_seconds or 0) <= 30:
            faults["timeout_seconds"] = "Between 1 and 30 seconds."
        if self.rate_limit_per_second is not None and not 0 < self.rate_limit_per_second <= 10_000:
            faults["rate_limit_per_second"] = "More than 0, at most 10,000 requests a second; empty for no limit."
        return faults

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, or raise ValidationError naming the field and the rule. A new endpoint gets its signing secret."""
        self.full_clean(validate_constraints=False)
        with transaction.atomic():
            is_new = self._state.adding
            super().save(*args, **kwargs)
            if is_new:
                SigningSecret.objects.create(endpoint=self, secret=signing.new_secret())


def _event_types_fault(patterns: object) -> str | None:
    if not isinstance(patterns, list) or not patterns:
        return 'A list with at least one pattern; ["*"] for every event.'
    return next((fault for pattern in patterns if (fault := pattern_fault(pattern))), None)


def _headers_fault(headers: object) -> str | None:
    if not isinstance(headers, dict):
        return "An object of header names and text values."
    return next((fault for name, value in headers.items() if (fault := header_fault(name, value))), None)
