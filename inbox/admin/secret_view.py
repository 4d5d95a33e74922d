"""The page that takes in a source's new secret."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from console.presentation import may
from inbox.errors import SecretRefused
from inbox.models import Source
from inbox.rotation import rotate

PERMISSION = "inbox.rotate_source_secret"


class SecretForm(forms.Form):
    """The secret as the provider shows it, and how long older ones are still believed."""

    secret = forms.CharField(
        max_length=2000,
        widget=forms.PasswordInput(attrs={"size": 70, "autocomplete": "new-password"}, render_value=False),
    )
    overlap = forms.TypedChoiceField(
        label="Older secrets are believed for",
        coerce=int,
        initial=96,
        choices=[
            (24, "24 hours"),
            (96, "4 days"),
            (168, "7 days"),
            (720, "30 days"),
            (0, "no time: they leaked, stop believing them now"),
        ],
    )


class SecretView(admin.ModelAdmin):  # type: ignore[type-arg]
    """Adds the page to an admin of sources."""

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [path("<int:pk>/rotate/", wrap(self.rotate_view), name="inbox_source_rotate"), *super().get_urls()]

    @method_decorator(sensitive_post_parameters("secret"))
    @sensitive_variables("form")
    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Take in the secret and lead back to the source."""
        source: Source | None = self.get_object(request, str(pk))
        if not may(request, PERMISSION) or not self.has_view_permission(request):
            raise PermissionDenied
        if source is None:
            raise Http404(f"There is no source {pk}.")
        form = SecretForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            period = timedelta(hours=form.cleaned_data["overlap"])
            try:
                made = rotate(source, form.cleaned_data["secret"], actor=request.user.get_username(), overlap=period)
            except SecretRefused as refusal:
                form.add_error("secret", str(refusal))
            else:
                self.log_change(request, source, f"Added the secret with key {made.fingerprint}.")
                messages.success(request, f"The secret with key {made.fingerprint} is believed from now on.")
                return HttpResponseRedirect(reverse("admin:inbox_source_change", args=[pk]))
        context: dict[str, Any] = {**self.admin_site.each_context(request), "opts": self.opts, "source": source}
        context |= {"title": "Add a secret", "form": form, "media": self.media}
        return TemplateResponse(request, "inbox/admin/rotate.html", context)
