"""`/inbox/<source>/` and `/inbox/<source>`."""

from django.urls import path

from inbox.views import Door

app_name = "inbox"

urlpatterns = [
    path("<slug:slug>/", Door.as_view(), name="door"),
    path("<slug:slug>", Door.as_view(), name="door-without-slash"),
]
