"""Django settings. Everything an installation may change comes from the environment (README, "Configuration").

Development is the default only beside the embedded database; any other database means production, and production
refuses to start without its keys.
"""

import os
from pathlib import Path

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from webhooks_project import boot, broker, logs, tracing
from webhooks_project.development import development_keys

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = boot.data_dir()


def _flag(name: str, default: bool) -> bool:
    raw = os.environ.get(name, "").strip().lower()
    if raw in {"", "0", "1", "true", "false", "yes", "no", "on", "off"}:
        return default if raw == "" else raw in {"1", "true", "yes", "on"}
    raise ImproperlyConfigured(f"{name} is {raw!r}: say 1 or 0.")


def _words(name: str) -> list[str]:
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def _required(name: str, hint: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise ImproperlyConfigured(f"{name} is not set. {hint}")
    return value


EMBEDDED = _flag("HOLDFAST_EMBEDDED", default="DATABASE_URL" not in os.environ)
DEBUG = _flag("DJANGO_DEBUG", default=EMBEDDED)

if DEBUG:
    _keys = development_keys(DATA_DIR)
    SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY") or _keys.django
    HOLDFAST_SECRET_KEYS = _words("HOLDFAST_SECRET_KEYS") or [_keys.fernet]
    ALLOWED_HOSTS = _words("DJANGO_ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]
    HOLDFAST_ALLOWED_NETWORKS = (
        _words("HOLDFAST_ALLOWED_NETWORKS") if "HOLDFAST_ALLOWED_NETWORKS" in os.environ else ["127.0.0.0/8", "::1/128"]
    )
else:
    SECRET_KEY = _required(
        "DJANGO_SECRET_KEY", "Make one: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
    )
    _required(
        "HOLDFAST_SECRET_KEYS",
        "It encrypts signing secrets. Make one: python -c "
        "'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'",
    )
    HOLDFAST_SECRET_KEYS = _words("HOLDFAST_SECRET_KEYS")
    _required("DJANGO_ALLOWED_HOSTS", "Name the hosts the admin is served under, separated by commas.")
    ALLOWED_HOSTS = _words("DJANGO_ALLOWED_HOSTS")
    HOLDFAST_ALLOWED_NETWORKS = _words("HOLDFAST_ALLOWED_NETWORKS")

INSTALLED_APPS = [
    "webhooks_project",
    "vault",
    "console",
    "endpoints",
    "deliveries",
    "inbox",
    "django_celery_beat",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "webhooks_project.urls"
WSGI_APPLICATION = "webhooks_project.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {
    # The placeholder serves tools that only import the settings (type checkers); nothing listens there.
    "default": dj_database_url.parse(
        os.environ.get("DATABASE_URL") or "postgresql://postgres@127.0.0.1:1/holdfast",
        conn_max_age=600,
        conn_health_checks=True,
    ),
}
if DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
    raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL database: the delivery path is written for it.")
# Silent network death must not hold a worker: the kernel gives up on a dead peer after about half a minute.
DATABASES["default"].setdefault("OPTIONS", {}).update(
    {
        "application_name": "holdfast",
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 4,
    }
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = os.environ.get("REDIS_URL") or "redis://127.0.0.1:1/0"
BROKER_URL = os.environ.get("BROKER_URL") or REDIS_URL

CELERY_BROKER_URL = BROKER_URL
CELERY_DB_REUSE_MAX = 1000
for _name, _value in broker.SETTINGS.items():
    globals()[f"CELERY_{_name.upper()}"] = _value

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en-gb"
TIME_ZONE = os.environ.get("TZ") or "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
WHITENOISE_USE_FINDERS = DEBUG

EMAIL_BACKEND = os.environ.get("DJANGO_EMAIL_BACKEND") or (
    "django.core.mail.backends.console.EmailBackend" if DEBUG else "django.core.mail.backends.smtp.EmailBackend"
)
EMAIL_HOST = os.environ.get("EMAIL_HOST", "localhost")
EMAIL_PORT = int(os.environ.get("EMAIL_PORT", "25"))
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = _flag("EMAIL_USE_TLS", default=False)
EMAIL_TIMEOUT = 10
EMAIL_FILE_PATH = os.environ.get("DJANGO_EMAIL_FILE_PATH") or str(DATA_DIR / "mail")
DEFAULT_FROM_EMAIL = os.environ.get("DEFAULT_FROM_EMAIL", "holdfast@localhost")

if not DEBUG:
    SECURE_SSL_REDIRECT = _flag("DJANGO_SECURE_SSL_REDIRECT", default=False)
    # A redirected POST comes back as a GET without its body; webhooks are proven by their signature, not by TLS.
    SECURE_REDIRECT_EXEMPT = [r"^inbox/"]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    CSRF_TRUSTED_ORIGINS = _words("DJANGO_CSRF_TRUSTED_ORIGINS")

try:
    LOGGING = logs.logging_config(
        format=os.environ.get("LOG_FORMAT") or ("text" if DEBUG else "json"),
        level=os.environ.get("LOG_LEVEL") or "INFO",
        attempts=_flag("LOG_ATTEMPTS", default=True),
    )
except ValueError as _error:
    raise ImproperlyConfigured(str(_error)) from _error

HOLDFAST_TRACING = _flag("HOLDFAST_TRACING", default=False)
if HOLDFAST_TRACING:
    tracing.exporting()

# What Holdfast itself may be told; every name, default and rule is in deliveries/conf.py.
HOLDFAST = {
    "OPERATORS": _words("HOLDFAST_OPERATORS"),
    "SEND_TRACEPARENT": _flag("HOLDFAST_SEND_TRACEPARENT", default=False),
    "OPERATIONS_TENANT": os.environ.get("HOLDFAST_OPERATIONS_TENANT", ""),
    "EVENT_DAYS": float(os.environ.get("HOLDFAST_EVENT_DAYS") or 30),
    "ATTEMPT_DAYS": float(os.environ.get("HOLDFAST_ATTEMPT_DAYS") or 30),
    "DEAD_LETTER_DAYS": float(os.environ.get("HOLDFAST_DEAD_LETTER_DAYS") or 90),
}

# What the inbox may be told; every name, default and rule is in inbox/conf.py.
HOLDFAST_INBOX = {
    "BODY_DAYS": float(os.environ.get("HOLDFAST_INBOX_BODY_DAYS") or 30),
    "LEDGER_DAYS": float(os.environ.get("HOLDFAST_INBOX_LEDGER_DAYS") or 400),
    "OPERATORS": _words("HOLDFAST_OPERATORS"),
}

# What a scrape of /metrics has to bring; without one it is open in development only.
HOLDFAST_METRICS_TOKEN = os.environ.get("HOLDFAST_METRICS_TOKEN", "")

# What `pipeline_status` shows beside the deliveries: functions that give name, figures, lines and problems.
HOLDFAST_STATUS_SECTIONS = ["inbox.report.status_section"]
