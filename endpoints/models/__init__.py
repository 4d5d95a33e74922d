"""Who may receive: endpoints, their signing secrets, their retry policies, and who changed a state or a secret."""

from endpoints.models.endpoint import Endpoint, State
from endpoints.models.retry_policy import RetryPolicy
from endpoints.models.secret_change import SecretChange
from endpoints.models.signing_secret import SigningSecret
from endpoints.models.state_change import StateChange

__all__ = ["Endpoint", "RetryPolicy", "SecretChange", "SigningSecret", "State", "StateChange"]
