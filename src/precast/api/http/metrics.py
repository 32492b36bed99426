"""Metrics for Prometheus, and the health of this process."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from precast.api.http.metrics_exchange import MetricsExchange
from precast.api.http.routes import PUBLIC, VIEWER, Call, Text, route
from precast.store.engine.database import Database
from precast.store.schema.check import ping

READY_FOR_S = 1.0
PUBLISH_EVERY_S = 1.0
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts the requests of this process. Memory is bounded: there is one counter per route and status."""

    def __init__(self, database: Database, exchange: MetricsExchange | None = None) -> None:
        """With an exchange, `/metrics` also shows the other workers of this server."""
        self._database = database
        self._exchange = exchange
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._started_s = time.time()
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self._counters: dict[str, tuple[str, str, Mapping[str, int]]] = {}
        self._ready_until_s = float("-inf")
        self.in_progress = 0

    @route("GET", "/metrics", VIEWER, "Counts for Prometheus", Text)
    async def show(self, call: Call) -> Text:
        own = self._text()
        return Text(TEXT, own if self._exchange is None else self._exchange.gather(own))

    @route("GET", "/health/live", PUBLIC, "Whether this process runs", dict[str, str], is_free=True)
    async def live(self, call: Call) -> dict[str, str]:
        return {"status": "live"}

    @route("GET", "/health/ready", PUBLIC, "Whether the database answers", dict[str, str], is_free=True)
    async def ready(self, call: Call) -> dict[str, str]:
        """Ping the database, at most once a second however many requests there are."""
        now_s = self._database.clock.monotonic_s()
        if self._ready_until_s <= now_s:
            await ping(self._database)
            self._ready_until_s = now_s + READY_FOR_S
        return {"status": "ready"}

    def gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape."""
        self._gauges[name] = (meaning, read)

    def counter(self, name: str, meaning: str, label: str, counts: Mapping[str, int]) -> None:
        """Add a counter with one label; `counts` has the values by the label's value, and is read at each scrape."""
        self._counters[name] = (meaning, label, counts)

    def count(self, route: str, status: int, seconds: float) -> None:
        self._requests[route, status] += 1
        self._seconds[route] += seconds

    async def run(self) -> None:
        """Publish the metrics for the other workers once a second, for ever."""
        while self._exchange is not None:
            self._exchange.publish(self._text())
            await asyncio.sleep(PUBLISH_EVERY_S)

    def _text(self) -> str:
        lines = [
            "# HELP precast_requests_total Requests answered.",
            "# TYPE precast_requests_total counter",
            *(
                f'precast_requests_total{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in sorted(self._requests.items())
            ),
            "# HELP precast_request_seconds_total Time spent on requests.",
            "# TYPE precast_request_seconds_total counter",
            *(
                f'precast_request_seconds_total{{route="{route}"}} {spent:.6f}'
                for route, spent in sorted(self._seconds.items())
            ),
            "# HELP precast_requests_under_way Requests being answered now.",
            "# TYPE precast_requests_under_way gauge",
            f"precast_requests_under_way {self.in_progress}",
            "# HELP precast_start_time_seconds When this process started.",
            "# TYPE precast_start_time_seconds gauge",
            f"precast_start_time_seconds {self._started_s:.3f}",
            *(
                line
                for name, (meaning, read) in sorted(self._gauges.items())
                for line in (f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name} {read():g}")
            ),
            *(
                line
                for name, (meaning, label, counts) in sorted(self._counters.items())
                for line in (
                    *(f"# HELP {name} {meaning}", f"# TYPE {name} counter"),
                    *(f'{name}{{{label}="{value}"}} {count}' for value, count in sorted(counts.items())),
                )
            ),
        ]
        return "\n".join(lines) + "\n"
