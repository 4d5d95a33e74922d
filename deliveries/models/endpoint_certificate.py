"""The end of each endpoint's TLS certificate, as it was last seen."""

from typing import ClassVar

from django.db import models


class EndpointCertificate(models.Model):
    """Of several certificates that an endpoint's servers show, the one that ends first. For HTTPS endpoints only.

    `deliveries.transitions.certificates` writes it. It says nothing about an endpoint whose URL is not HTTPS any more.
    """

    endpoint = models.OneToOneField(
        "endpoints.Endpoint", on_delete=models.CASCADE, primary_key=True, related_name="certificate"
    )
    ends_at = models.DateTimeField()
    seen_at = models.DateTimeField(help_text="To the quarter of an hour.")

    class Meta:
        ordering: ClassVar = ["endpoint"]
        indexes: ClassVar = [models.Index(fields=["ends_at"], name="certificate_by_end")]

    def __str__(self) -> str:
        return f"endpoint {self.endpoint_id}: until {self.ends_at}"
