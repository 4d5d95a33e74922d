"""Who may receive: endpoints, their signing secrets, the retry policies they follow, and why a state changed."""

from endpoints.models.endpoint import Endpoint, State
from endpoints.models.retry_policy import RetryPolicy
from endpoints.models.signing_secret import SigningSecret
from endpoints.models.state_change import StateChange

__all__ = ["Endpoint", "RetryPolicy", "SigningSecret", "State", "StateChange"]
