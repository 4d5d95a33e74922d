"""What the admin calls itself."""

from django.contrib import admin

admin.site.site_header = "Holdfast"
admin.site.site_title = "Holdfast"
admin.site.index_title = "Webhook delivery"
