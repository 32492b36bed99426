"""A websocket that delivers messages directly, within the call that has received them.

aiohttp queues a message and wakes the task that waits for it, which costs a good part of what storing a short record does. Here a consumer
gets each message first and accepts it or leaves it to the task. For that, the queue to which aiohttp's reader writes is replaced where
aiohttp creates it; nothing else of aiohttp is changed. `tests/component/api/sessions/test_sockets.py` checks it over a real socket.
"""

from collections.abc import Callable
from typing import Any

from aiohttp import WSMsgType, web
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.http import WebSocketReader, WebSocketWriter

# Reading stops while more than this is queued.
QUEUE_BYTES = 64 * 1024


class DirectDeliveryQueue(WebSocketDataQueue):
    """Offers each message to `consumer` while it is open. A message that the consumer leaves is queued, and so is everything behind it."""

    __slots__ = ("_is_open", "consumer")

    consumer: Callable[[bytes], bool] | None
    _is_open: bool

    def open(self) -> None:
        """Deliver directly from now on: the task waits for the next message and handles no other. A queued message closes it again."""
        self._is_open = not self._buffer

    def feed_data(self, data: Any, size: int) -> None:
        if self._is_open and self.consumer is not None and data.type is WSMsgType.BINARY and self.consumer(data.data):
            return
        # Closed until the task has received this message and all behind it, so that messages stay in order.
        self._is_open = False
        super().feed_data(data, size)


class SessionSocket(web.WebSocketResponse):
    """A node's websocket, with direct delivery."""

    queue: DirectDeliveryQueue

    def _post_start(self, request: web.BaseRequest, protocol: str | None, writer: WebSocketWriter) -> None:
        """Do what aiohttp does, with our own queue and without aiohttp's heartbeat."""
        assert self._loop is not None, "the response has been prepared"
        self._ws_protocol, self._writer = protocol, writer
        self.queue = self._reader = DirectDeliveryQueue(request.protocol, QUEUE_BYTES, loop=self._loop)
        self.queue.consumer, self.queue._is_open = None, False
        self._parser = WebSocketReader(self.queue, self._max_msg_size, compress=False, decode_text=self._decode_text)
        request.protocol.set_parser(self._parser)
        request.protocol.keep_alive(False)
