"""The broker's transport, in the moments after its connection was lost."""

from typing import Any

import pytest
from celery import current_app
from redis.exceptions import ConnectionError as LostConnection


def test_a_channel_whose_connection_was_given_up_says_so_as_a_connection_error():
    with current_app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        assert isinstance(LostConnection(), connection.connection_errors)
        # As Celery leaves it when the broker dies, before it closes the channels.
        connection.transport.client = None
        channel._disconnect_pools()

        with pytest.raises(LostConnection):
            channel.pool  # noqa: B018 - looking makes it


def test_a_message_that_could_not_be_put_back_at_such_a_moment_does_not_stop_the_closing():
    with current_app.connection_for_read() as connection:
        channel: Any = connection.channel()
        channel.queue_declare(queue="upkeep")
        channel.basic_publish(channel.prepare_message("{}"), exchange="", routing_key="upkeep")
        assert channel.basic_get("upkeep") is not None
        connection.transport.client = None
        channel._disconnect_pools()

        connection.maybe_close_channel(channel)
