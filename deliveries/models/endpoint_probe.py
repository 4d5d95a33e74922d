"""Probes: when an endpoint that its health disabled is tried again with one of the deliveries it holds."""

from typing import ClassVar

from django.db import models


class EndpointProbe(models.Model):
    """The probing of one endpoint since it was disabled. `deliveries.transitions.probes` writes it.

    It counts only while the endpoint is disabled since `disabled_at`: enabling needs no word to it, and a later
    disabling begins anew. Only where a probe had enabled it less than a day before do the waits grow on, so that an
    endpoint that is well for one request and no more does not come and go all day.
    """

    endpoint = models.OneToOneField(
        "endpoints.Endpoint", on_delete=models.CASCADE, primary_key=True, related_name="probe"
    )
    disabled_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True, help_text="Not before this time; empty: never again.")
    tries = models.PositiveIntegerField(default=0, help_text="Probes begun.")
    tried_at = models.DateTimeField(null=True, blank=True)
    arrived_at = models.DateTimeField(null=True, blank=True, help_text="When a probe enabled the endpoint.")
    said = models.TextField(blank=True, default="", help_text="What the last one came to.")

    class Meta:
        ordering: ClassVar = ["endpoint"]

    def __str__(self) -> str:
        return f"endpoint {self.endpoint_id}: {self.tries} tries"
