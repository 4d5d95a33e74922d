"""What the admin calls itself."""

from django.contrib import admin

admin.site.site_header = "Holdfast"
admin.site.site_title = "Holdfast"
admin.site.index_title = "Webhook delivery"
# The lists need the width more than the names of the other lists do; those are one click away.
admin.site.enable_nav_sidebar = False
# The site is the admin: a link to itself helps nobody.
admin.site.site_url = None
