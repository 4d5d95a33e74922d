"""What the admin calls itself."""

from django.contrib import admin

admin.site.site_header = "Holdfast"
admin.site.site_title = "Holdfast"
admin.site.index_title = "Webhook delivery"
# The site is the admin: a link to itself helps nobody.
admin.site.site_url = None
