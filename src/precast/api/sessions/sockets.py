"""A websocket whose messages are handed over as they come.

aiohttp keeps a message until a task asks for it, and wakes that task: for a short record that costs a good part of what storing it does.
Here whoever has the connection gets each message first, within the call that has read it, and takes it or leaves it to the task. What
aiohttp offers for that is the queue its reader writes to; it is replaced where it is made, and nothing else is touched.
"""

from collections.abc import Callable
from typing import Any

from aiohttp import WSMsgType, web
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.http import WebSocketReader, WebSocketWriter

# As much of what was not asked for yet is kept before nothing more is read.
KEPT_BYTES = 64 * 1024


class Inlet(WebSocketDataQueue):
    """Messages as they come. While it is open, `take` may take one at once; what it leaves is kept, and everything behind it."""

    __slots__ = ("_is_open", "take")

    take: Callable[[bytes], bool] | None
    _is_open: bool

    def open(self) -> None:
        """Whoever asks for messages is at nothing else from now on, until one is kept for it."""
        self._is_open = not self._buffer

    def feed_data(self, data: Any, size: int) -> None:
        if self._is_open and self.take is not None and data.type is WSMsgType.BINARY and self.take(data.data):
            return
        # Until whoever asks has got this and all behind it: to give one may bring more that was read before.
        self._is_open = False
        super().feed_data(data, size)


class SessionSocket(web.WebSocketResponse):
    """One node's websocket."""

    inlet: Inlet

    def _post_start(self, request: web.BaseRequest, protocol: str | None, writer: WebSocketWriter) -> None:
        """As aiohttp does it, with a queue of ours; there is no heartbeat of its own."""
        assert self._loop is not None, "it was prepared"
        self._ws_protocol, self._writer = protocol, writer
        self.inlet = self._reader = Inlet(request.protocol, KEPT_BYTES, loop=self._loop)
        self.inlet.take, self.inlet._is_open = None, False
        self._parser = WebSocketReader(self.inlet, self._max_msg_size, compress=False, decode_text=self._decode_text)
        request.protocol.set_parser(self._parser)
        request.protocol.keep_alive(False)
