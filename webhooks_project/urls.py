from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from deliveries.views import health
from webhooks_project.metrics import metrics

urlpatterns = [
    path("admin/", admin.site.urls),
    path("inbox/", include("inbox.urls")),
    path("health/", health, name="health"),
    path("metrics", metrics, name="metrics"),
    path("metrics/", metrics),
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
]
