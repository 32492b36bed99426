"""One execution of a net: which transitions may start now, which run, which have ended and with what outcome.

The rule. A transition is enabled when every place has the tokens it takes and, beside them, those it reads, and when there is room for the
most that any outcome gives. Its start takes tokens; its end gives tokens, by outcome. An end never waits and never disables anything, so
it does not matter how long a transition runs. Among enabled transitions the order is the net's (priority, then declaration), so two
executions in which the same transitions end in the same order also start the same transitions in the same order.

An execution does no work and keeps no time: a driver calls `start_next()`, does the work, and calls `finish()`. It is not safe to share
between threads without a lock.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from precast.net import issues
from precast.net.model import extension
from precast.net.model.declarations import Outcome
from precast.net.model.structure import GROUP, NOBODY, Net

FORMAT = 1
# More automatic ends in a row than this, beyond one for each transition, are reported as an endless cycle.
MAX_AUTO_ENDS = 100_000


class Execution:
    """The state of one execution. `listener` is called for every end, in order, also for automatic transitions and skips."""

    def __init__(self, net: Net, listener: Callable[[int, Outcome], None] | None = None) -> None:
        self.net = net
        self.tokens = list(net.initial)
        # How often each transition runs now; a transition may run several times at once if the tokens allow it.
        self.running: dict[int, int] = {}
        self.ended_count = 0
        # By declared transition: 0, or one more than its latest outcome.
        self._latest = bytearray(len(net.declared.transitions))
        self._listener = listener
        self._unmet = list(net.unmet)
        self._queue: list[int] = []
        self._is_queued = bytearray(net.transition_count)
        self._fill_queue()

    def _fill_queue(self) -> None:
        """Queue all enabled transitions. One that is disabled later stays queued, so `start_next` checks each entry."""
        rank, queued = self.net.rank, self._is_queued
        for t, unmet in enumerate(self._unmet):
            if not unmet:
                self._queue.append(rank[t])
                queued[t] = 1
        heapify(self._queue)

    @property
    def is_over(self) -> bool:
        """Whether nothing runs and nothing can start."""
        return not self.running and not self.enabled()

    def is_enabled(self, t: int) -> bool:
        return not self._unmet[t]

    def enabled(self) -> list[int]:
        """The transitions that could start now, each on its own, in order of precedence."""
        order = self.net.order
        ranks = sorted({entry for entry in self._queue if not self._unmet[order[entry]]})
        return [order[entry] for entry in ranks]

    def outcome(self, t: int) -> Outcome | None:
        """The latest outcome of the declared transition t, or None if it has not ended."""
        latest = self._latest[t]
        return Outcome(latest - 1) if latest else None

    def start_next(self) -> int | None:
        """Start the first enabled transition that has work and return it; None if no such transition is enabled.

        Automatic transitions that precede it are started and finished here. Raises InputError NET-009 if they never end.
        """
        queue, order, queued, unmet = self._queue, self.net.order, self._is_queued, self._unmet
        is_auto = self.net.is_auto
        auto_ends_left = MAX_AUTO_ENDS + self.net.transition_count
        while queue:
            t = order[heappop(queue)]
            queued[t] = 0
            if unmet[t]:
                continue
            self._start(t)
            if not is_auto[t]:
                return t
            self._end_auto(t)
            auto_ends_left -= 1
            if not auto_ends_left:
                raise issues.AUTO_CYCLE.error(names=self._enabled_auto_names())
        return None

    def start(self, t: int) -> None:
        """Start t before others that precede it. Raises ConflictError NET-006 if it is not enabled."""
        if self._unmet[t]:
            short = next(p for p, wanted in self.net.tested(t).items() if self.tokens[p] < wanted)
            reason = f"{self.net.place_name(short)} has {self.tokens[short]}, it wants {self.net.tested(t)[short]}"
            raise issues.NOT_ENABLED.error(name=self.net.transition_name(t), reason=reason)
        self._start(t)

    def finish(self, t: int, outcome: Outcome = Outcome.SUCCESS) -> None:
        """End one run of t. Raises ConflictError NET-007 if t does not run."""
        running = self.running
        count = running.get(t)
        if count is None:
            raise issues.NOT_RUNNING.error(name=self.net.transition_name(t))
        if count == 1:
            del running[t]
        else:
            running[t] = count - 1
        net, heavy = self.net, self.net.heavy_watch
        tokens, unmet, watcher, queued = self.tokens, self._unmet, net.watcher, self._is_queued
        for p in net.puts[0][t] if not outcome else net.put_on(t, outcome):
            before = tokens[p]
            tokens[p] = before + 1
            if not before:
                watching = watcher[p]
                if watching >= 0:
                    unmet[watching] = left = unmet[watching] - 1
                    if not left and not queued[watching]:
                        queued[watching] = 1
                        heappush(self._queue, net.rank[watching])
                elif watching != NOBODY:
                    self._meet_conditions(net.groups[GROUP - watching])
            if heavy and p in heavy:
                self._cross_thresholds(p, before, before + 1)
        for p, weight in net.heavy_puts[outcome].get(t, ()):
            self._add(p, weight)
        step = t if t < len(self._latest) else net.step_of(t)
        self._latest[step] = outcome + 1
        self.ended_count += 1
        if self._listener is not None:
            self._listener(step, outcome)

    def put(self, p: int, count: int) -> None:
        """Add tokens to a place, or take some from it if `count` is negative: an event from outside, such as time that has passed."""
        assert self.tokens[p] + count >= 0, "a place never has fewer than no tokens"
        if count:
            self._add(p, count)

    def _start(self, t: int) -> None:
        net, heavy = self.net, self.net.heavy_watch
        tokens, unmet, watcher = self.tokens, self._unmet, net.watcher
        for p in net.takes[t]:
            tokens[p] = left = tokens[p] - 1
            if not left:
                watching = watcher[p]
                if watching >= 0:
                    unmet[watching] += 1
                elif watching != NOBODY:
                    for watcher_t in net.groups[GROUP - watching]:
                        unmet[watcher_t] += 1
            if heavy and p in heavy:
                self._cross_thresholds(p, left + 1, left)
        for p, weight in net.heavy_takes.get(t, ()):
            self._add(p, -weight)
        for p, weight in net.frees.get(t, ()):
            self._add(p, weight)
        self.running[t] = self.running.get(t, 0) + 1
        if not unmet[t]:
            self._enqueue(t)

    def _end_auto(self, t: int) -> None:
        self.finish(t, Outcome.SKIPPED if self.net.is_skip(t) else Outcome.SUCCESS)

    def _add(self, p: int, count: int) -> None:
        """Move any number of tokens to or from a place."""
        before = self.tokens[p]
        after = self.tokens[p] = before + count
        if not before:
            self._meet_conditions(self.net.watchers(p))
        elif not after:
            for t in self.net.watchers(p):
                self._unmet[t] += 1
        if p in self.net.heavy_watch:
            self._cross_thresholds(p, before, after)

    def _meet_conditions(self, watchers: Sequence[int]) -> None:
        for t in watchers:
            self._unmet[t] -= 1
            if not self._unmet[t]:
                self._enqueue(t)

    def _cross_thresholds(self, p: int, before: int, after: int) -> None:
        """Update the transitions that need several tokens of p and whose threshold was crossed, up or down."""
        for threshold, t in self.net.heavy_watch[p]:
            if before < threshold <= after:
                self._meet_conditions([t])
            elif after < threshold <= before:
                self._unmet[t] += 1

    def _enqueue(self, t: int) -> None:
        if not self._is_queued[t]:
            self._is_queued[t] = 1
            heappush(self._queue, self.net.rank[t])

    def _enabled_auto_names(self) -> str:
        names = [self.net.transition_name(t) for t in self.enabled() if self.net.is_auto[t]]
        return ", ".join(names[:5])

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data, for canonical JSON. It lists the running transitions, whose work is repeated after a restore."""
        return {
            "format": FORMAT,
            "net": self.net.digest,
            "tokens": list(self.tokens),
            "running": sorted(t for t, count in self.running.items() for _ in range(count)),
            "latest": bytes(self._latest).translate(_DIGITS).decode(),
            "ended": self.ended_count,
        }

    @classmethod
    def restore(
        cls, net: Net, snapshot: dict[str, Any], listener: Callable[[int, Outcome], None] | None = None
    ) -> "Execution":
        """Continue from a snapshot. Transitions that ran then still run: they hold their tokens until `finish` is called.

        Raises ConflictError NET-008 if the snapshot is of another net or damaged.
        """
        _require_fit(net, snapshot)
        self = cls.at_marking(net, snapshot["tokens"], snapshot["running"], listener)
        self._latest = bytearray(map(int, snapshot["latest"]))
        self.ended_count = snapshot["ended"]
        return self

    @classmethod
    def at_marking(
        cls,
        net: Net,
        tokens: Sequence[int],
        running: Sequence[int],
        listener: Callable[[int, Outcome], None] | None = None,
    ) -> "Execution":
        """Continue from a marking that the caller has computed: the tokens of all places, without those that `running` ones hold.

        A limit may be overdrawn, with fewer than no tokens: more runs than it allows now. Nothing that holds it starts until enough has
        ended.
        """
        self = cls(net, listener)
        self.tokens = list(tokens)
        for t in running:
            self.running[t] = self.running.get(t, 0) + 1
        self._recount()
        return self

    def grow(self, net: Net) -> None:
        """Continue in a net that declares all of the present net first, as though it had been the net from the start.

        For an execution that learns on the way which work there is. Running transitions keep their numbers. Raises ConflictError NET-032
        for any other net; then nothing has changed.
        """
        if not extension.is_extension(self.net, net):
            raise issues.NOT_AN_EXTENSION.error(name=net.declared.name)
        self.tokens = extension.carry_tokens(self.net, net, self.tokens, self.outcome)
        self._latest += bytes(len(net.declared.transitions) - len(self._latest))
        self.net = net
        self._recount()

    def _recount(self) -> None:
        net = self.net
        self._unmet = unmet = [0] * net.transition_count
        for p, count in enumerate(self.tokens):
            if count <= 0:
                for t in net.watchers(p):
                    unmet[t] += 1
        for p, thresholds in net.heavy_watch.items():
            for threshold, t in thresholds:
                unmet[t] += self.tokens[p] < threshold
        self._queue = []
        self._is_queued = bytearray(net.transition_count)
        self._fill_queue()


_DIGITS = bytes(ord("0") + min(value, 9) for value in range(256))


def _require_fit(net: Net, snapshot: dict[str, Any]) -> None:
    if snapshot.get("format") != FORMAT:
        raise issues.WRONG_SNAPSHOT.error(reason=f"its format is {snapshot.get('format')!r}, not {FORMAT}")
    if snapshot.get("net") != net.digest:
        raise issues.WRONG_SNAPSHOT.error(reason="it was taken from another net")
    tokens, running, latest = snapshot.get("tokens"), snapshot.get("running"), snapshot.get("latest")
    if not (
        _are_numbers(tokens, net.place_count, None)
        and _are_numbers(running, None, len(net.declared.transitions))
        and isinstance(latest, str)
        and len(latest) == len(net.declared.transitions)
        and set(latest) <= set("0123")
        and isinstance(snapshot.get("ended"), int)
    ):
        raise issues.WRONG_SNAPSHOT.error(reason="it is damaged")


def _are_numbers(value: object, length: int | None, below: int | None) -> bool:
    return (
        isinstance(value, list)
        and (length is None or len(value) == length)
        and all(isinstance(item, int) and item >= 0 and (below is None or item < below) for item in value)
    )
