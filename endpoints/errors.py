"""What can go wrong with an endpoint's configuration. Pure."""


class EndpointError(Exception):
    """Something about an endpoint does not allow what was asked."""


class TransitionRefused(EndpointError):
    """The endpoint is not in a state from which this move is legal."""
