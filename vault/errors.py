"""What can go wrong with stored secrets. Pure."""


class UndecryptableValue(Exception):
    """A stored value was encrypted with a key that `HOLDFAST_SECRET_KEYS` no longer holds."""
