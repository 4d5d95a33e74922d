from django.apps import AppConfig


class BookshopConfig(AppConfig):
    name = "tests.bookshop"
    label = "bookshop"
    verbose_name = "Bookshop"
    default_auto_field = "django.db.models.BigAutoField"
