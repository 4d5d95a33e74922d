from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from deliveries.views import health

urlpatterns = [
    path("admin/", admin.site.urls),
    path("inbox/", include("inbox.urls")),
    path("health/", health, name="health"),
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
]
