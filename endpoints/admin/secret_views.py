"""The pages around an endpoint's signing secrets: rotate, show the new one once, revoke one."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from console.presentation import may
from endpoints.admin.signing_secrets import (
    REVEAL_MINUTES,
    RevocationForm,
    RotationForm,
    allow_one_look,
    has_a_look,
    use_the_look,
)
from endpoints.errors import TransitionRefused
from endpoints.models import Endpoint, SigningSecret
from endpoints.rotation import revoke, rotate

PERMISSION = "endpoints.reveal_signing_secret"


class SecretViews(admin.ModelAdmin):  # type: ignore[type-arg]
    """Adds the pages to an admin of endpoints."""

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:pk>/rotate/", wrap(self.rotate_view), name="endpoints_endpoint_rotate"),
            path("<int:pk>/revoke/", wrap(self.revoke_view), name="endpoints_endpoint_revoke"),
            path("<int:pk>/secret/", wrap(never_cache(self.secret_view)), name="endpoints_endpoint_secret"),
            *super().get_urls(),
        ]

    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for the overlap, rotate, and lead to the new secret."""
        endpoint = self._endpoint_or_refuse(request, pk)
        form = RotationForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                secret = rotate(endpoint, actor=request.user.get_username(), overlap=form.period)
            except TransitionRefused as refusal:
                messages.error(request, str(refusal))
                return HttpResponseRedirect(reverse("admin:endpoints_endpoint_change", args=[pk]))
            self.log_change(request, endpoint, f"Rotated the signing secret; the new one is {secret.fingerprint}.")
            allow_one_look(request, secret)
            return HttpResponseRedirect(reverse("admin:endpoints_endpoint_secret", args=[pk]))
        return self._page(request, "endpoints/admin/rotate.html", endpoint, "Rotate the signing secret", form=form)

    def revoke_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask which secret and why, and stop signing with it."""
        endpoint = self._endpoint_or_refuse(request, pk)
        form = RevocationForm(request.POST or None, endpoint, timezone.now())
        if request.method == "POST" and form.is_valid():
            secret, reason = form.cleaned_data["secret"], form.cleaned_data["reason"]
            try:
                revoke(secret, actor=request.user.get_username(), reason=reason)
            except TransitionRefused as refusal:
                messages.error(request, str(refusal))
            else:
                self.log_change(request, endpoint, f"Revoked the signing secret {secret.fingerprint}: {reason}")
                messages.success(request, f"The secret {secret.fingerprint} signs no more.")
            return HttpResponseRedirect(reverse("admin:endpoints_endpoint_change", args=[pk]))
        return self._page(request, "endpoints/admin/revoke.html", endpoint, "Revoke a signing secret", form=form)

    @sensitive_variables("secret")
    def secret_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Offer the newest secret to the session that made it; show it when asked, once, and log that."""
        endpoint = self._endpoint_or_refuse(request, pk)
        secret = SigningSecret.objects.live(timezone.now()).filter(endpoint=endpoint).first()
        if secret is None or not has_a_look(request, secret):
            messages.info(request, "The signing secret was shown already, or its time is up. Rotate it for a new one.")
            return HttpResponseRedirect(reverse("admin:endpoints_endpoint_change", args=[pk]))
        shown = ""
        if request.method == "POST" and use_the_look(request, secret):
            self.log_change(request, endpoint, f"Revealed the signing secret {secret.fingerprint}.")
            shown = secret.secret
        return self._page(
            request,
            "endpoints/admin/secret.html",
            endpoint,
            "The signing secret",
            secret=shown,
            fingerprint=secret.fingerprint,
            minutes=REVEAL_MINUTES,
        )

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: str | None = None) -> HttpResponse:
        """After a new endpoint comes its secret, for those who may see it."""
        response = super().response_add(request, obj, post_url_continue)
        if not may(request, PERMISSION) or "_popup" in request.POST:
            return response
        allow_one_look(request, obj.signing_secrets.get())
        return HttpResponseRedirect(reverse("admin:endpoints_endpoint_secret", args=[obj.pk]))

    def _endpoint_or_refuse(self, request: HttpRequest, pk: int) -> Endpoint:
        if not may(request, PERMISSION) or not self.has_view_permission(request):
            raise PermissionDenied
        endpoint: Endpoint | None = self.get_object(request, str(pk))
        if endpoint is None:
            raise Http404(f"There is no endpoint {pk}.")
        return endpoint

    def _page(self, request: HttpRequest, template: str, endpoint: Endpoint, title: str, **more: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": self.opts, "endpoint": endpoint, "title": title}
        return TemplateResponse(request, template, {**context, "media": self.media, **more})
