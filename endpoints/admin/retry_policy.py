"""Retry policies in the admin; what makes no sense is refused by the model, field by field."""

from django.contrib import admin
from django.http import HttpRequest

from endpoints.models import RetryPolicy
from endpoints.policies import DEFAULT_POLICY_NAME


class RetryPolicyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "kind", "waits", "max_attempts", "deadline", "timeout")
    search_fields = ("name",)
    fieldsets = (
        (None, {"fields": ("name", "kind", "max_attempts", "deadline_seconds", "timeout_seconds")}),
        ("Exponential", {"fields": ("base_seconds", "cap_seconds")}),
        ("Schedule", {"fields": ("schedule_seconds", "jitter")}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: RetryPolicy | None = None) -> tuple[str, ...]:
        return ("name",) if _is_default(obj) else ()

    def has_delete_permission(self, request: HttpRequest, obj: RetryPolicy | None = None) -> bool:
        """Endpoints that name no policy follow the default one: without it nothing could be recorded for them."""
        return not _is_default(obj) and super().has_delete_permission(request, obj)

    @admin.display(description="waits")
    def waits(self, policy: RetryPolicy) -> str:
        if policy.kind == RetryPolicy.Kind.SCHEDULE:
            return ", ".join(_span(seconds) for seconds in policy.schedule_seconds)
        return f"up to {_span(policy.base_seconds)}, doubling to {_span(policy.cap_seconds)}"

    @admin.display(description="deadline")
    def deadline(self, policy: RetryPolicy) -> str:
        return _span(policy.deadline_seconds)

    @admin.display(description="timeout", empty_value="the endpoint's own")
    def timeout(self, policy: RetryPolicy) -> str | None:
        return _span(policy.timeout_seconds) if policy.timeout_seconds else None


def _is_default(policy: RetryPolicy | None) -> bool:
    return policy is not None and policy.name == DEFAULT_POLICY_NAME


def _span(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
