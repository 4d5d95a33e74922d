"""The WSGI application that gunicorn serves."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from webhooks_project import tracing
from webhooks_project.boot import prepare

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webhooks_project.settings")
prepare()
application = get_wsgi_application()
tracing.start(wanted=settings.HOLDFAST_TRACING)
