from django.apps import AppConfig


class WebhooksProjectConfig(AppConfig):
    name = "webhooks_project"
    verbose_name = "Holdfast"
