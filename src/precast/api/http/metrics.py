"""Counts for Prometheus, and the health of this process."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable

from precast.api.http.board import Board
from precast.api.http.routes import PUBLIC, Call, Route, Routes, Text
from precast.store.engine.database import Database
from precast.store.schema.check import ping

READY_FOR_S = 1.0
PUBLISH_EVERY_S = 1.0
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What this process has done since it started. Bounded: there is one count for each route and status."""

    def __init__(self, database: Database, board: Board | None = None) -> None:
        """With a board, the figures of the other processes of this server are told as well."""
        self._database = database
        self._board = board
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._started_s = time.time()
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self._ready_until_s = float("-inf")
        self.under_way = 0

    def declare(self, routes: Routes) -> None:
        state = dict[str, str]
        for route in (
            Route("GET", "/metrics", self.show, PUBLIC, "Counts for Prometheus", Text, is_free=True),
            Route("GET", "/health/live", self.live, PUBLIC, "Whether this process runs", state, is_free=True),
            Route("GET", "/health/ready", self.ready, PUBLIC, "Whether the database answers", state, is_free=True),
        ):
            routes.add(route)

    def gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """A figure that is read when it is asked for."""
        self._gauges[name] = (meaning, read)

    def count(self, route: str, status: int, seconds: float) -> None:
        self._requests[route, status] += 1
        self._seconds[route] += seconds

    async def run(self) -> None:
        """Lay our figures down for the other processes, once a second, for ever."""
        while self._board is not None:
            self._board.publish(self._text())
            await asyncio.sleep(PUBLISH_EVERY_S)

    async def show(self, call: Call) -> Text:
        own = self._text()
        return Text(TEXT, own if self._board is None else self._board.gather(own))

    def _text(self) -> str:
        lines = [
            "# HELP precast_requests_total Requests answered.",
            "# TYPE precast_requests_total counter",
            *(
                f'precast_requests_total{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in sorted(self._requests.items())
            ),
            "# HELP precast_request_seconds_total Time spent on them.",
            "# TYPE precast_request_seconds_total counter",
            *(
                f'precast_request_seconds_total{{route="{route}"}} {spent:.6f}'
                for route, spent in sorted(self._seconds.items())
            ),
            "# HELP precast_requests_under_way Requests being answered now.",
            "# TYPE precast_requests_under_way gauge",
            f"precast_requests_under_way {self.under_way}",
            "# HELP precast_start_time_seconds When this process started.",
            "# TYPE precast_start_time_seconds gauge",
            f"precast_start_time_seconds {self._started_s:.3f}",
            *(
                line
                for name, (meaning, read) in sorted(self._gauges.items())
                for line in (f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name} {read():g}")
            ),
        ]
        return "\n".join(lines) + "\n"

    async def live(self, call: Call) -> dict[str, str]:
        return {"status": "live"}

    async def ready(self, call: Call) -> dict[str, str]:
        """Asked of the database once a second at most, however many ask."""
        now_s = self._database.clock.monotonic_s()
        if self._ready_until_s <= now_s:
            await ping(self._database)
            self._ready_until_s = now_s + READY_FOR_S
        return {"status": "ready"}
