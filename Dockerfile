# One image for web, workers, beat and migrations; docker-compose.yml says which command each runs.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MALLOC_ARENA_MAX=2

WORKDIR /app

# 1: with OpenTelemetry (docs/tracing.md).
ARG TRACING=
COPY requirements.txt requirements-tracing.txt constraints.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt ${TRACING:+-r requirements-tracing.txt}

COPY . .

# Settings refuse to load without keys: these exist for this one command and end up nowhere.
RUN DATABASE_URL=postgresql://build@127.0.0.1:1/build \
    REDIS_URL=redis://127.0.0.1:1/0 \
    DJANGO_SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(50))')" \
    HOLDFAST_SECRET_KEYS="$(python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())')" \
    DJANGO_ALLOWED_HOSTS=localhost \
    python manage.py collectstatic --noinput --verbosity 0

# The application writes nothing to its own files.
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin holdfast
USER holdfast

EXPOSE 8000
CMD ["gunicorn", "webhooks_project.wsgi:application", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "4", "--no-control-socket", "--config", "python:webhooks_project.gunicorn_config"]
