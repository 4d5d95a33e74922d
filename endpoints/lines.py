"""The lines of the log, each with its facts; docs/logging.md explains them. Said where the thing happens."""

from typing import Final

from journal import Line

STATE_CHANGED: Final = Line(
    "endpoint.state_changed", "holdfast.endpoints", "endpoint_id from_state to_state actor reason"
)
SECRET_ROTATED: Final = Line(
    "endpoint.secret_rotated", "holdfast.endpoints", "endpoint_id key_fingerprint actor older_secrets older_expire_at"
)
SECRET_REVOKED: Final = Line(
    "endpoint.secret_revoked", "holdfast.endpoints", "endpoint_id key_fingerprint actor reason"
)
