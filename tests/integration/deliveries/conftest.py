"""Fixtures of the integration tests of deliveries."""

from tests.committed import committed_db

__all__ = ["committed_db"]
