"""One resource's turn: check, change, refresh, and the events that say so.

Nothing is touched before `before_change` was called, which throws away what was checked ahead. A no-op turn looks and reports; it
calls neither `apply` nor `refresh`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from precast.agent.applying.checks import Check, check
from precast.agent.applying.memory import Memory
from precast.base.errors import PrecastError
from precast.resources.contract import Change, Handler, State, Wanted
from precast.resources.properties import shown
from precast.wire.reports.events import Event, EventStatus, Log, ResourceReport, Status

REDACTED = "[redacted]"


class Pending(NamedTuple):
    """Refreshes that wait for a resource: real ones, and those that a no-op run would have sent."""

    real: int = 0
    noop: int = 0


NOTHING = Pending()


class Turn:
    """Applies one resource with what follows from it. Used once."""

    def __init__(
        self,
        handler: Handler,
        *,
        is_noop: bool,
        memory: Memory,
        before_change: Callable[[Handler], None],
        after_change: Callable[[Handler], None],
    ) -> None:
        self._handler = handler
        self._is_noop = is_noop
        self._memory = memory
        self._before_change = before_change
        self._after_change = after_change
        self._events: list[Event] = []
        self._logs: list[Log] = []
        self._hint: str | None = None
        self._has_failed = False

    def take(self, made: Check, pending: Pending) -> None:
        """Do all of it. `made` is a check that holds."""
        self._bring(self._handler, made)
        if self._handler.can_refresh and not self._handler.is_fresh and (pending.real or pending.noop):
            self._refresh(self._handler, pending)

    def _bring(self, handler: Handler, made: Check | None) -> None:
        """Bring a resource to what is wanted, and then what follows from it."""
        found = made if made is not None else check(handler)
        if found.error is not None:
            self._collect(handler)
            self._fail(handler.wanted.ref, f"Could not evaluate: {self._reason(found.error)}")
            return
        children: Sequence[tuple[Handler, Check | None]] = found.children
        if found.changes:
            # What follows is known before the change is made, and looked at after it.
            children = [(child, None) for child in self._expanded(handler, found.state)]
        if not self._change(handler, found):
            return  # as what depends on it: below a directory that could not be made there is nothing to do
        for child, seen in children:
            is_seen = seen is not None and not any(event.status == "success" for event in self._events)
            self._bring(child, seen if is_seen else None)

    def _expanded(self, handler: Handler, state: State) -> Iterable[Handler]:
        try:
            return handler.expand(state)
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            self._fail(handler.wanted.ref, f"Could not evaluate: {self._reason(error)}")
            return ()

    def _change(self, handler: Handler, found: Check) -> bool:
        """Make the changes; False if one failed."""
        ref = handler.wanted.ref
        known = self._memory.state(ref) if found.changes or "audit" in handler.wanted.metaparameters else {}
        self._audit(handler, found, known)
        done = [self._apply(handler, change, known) for change in found.changes]
        if not self._is_noop and True in done:
            self._flush(handler)
        self._collect(handler)
        if not self._is_noop:
            self._remember(handler, found, has_changed=True in done)
        return self._is_noop or False not in done

    def _apply(self, handler: Handler, change: Change, known: State) -> bool:
        """Make one change; whether it was made."""
        old = known.get(change.property)
        is_corrective = old is not None and not self._memory.is_same(old, change.previous)
        if self._is_noop:
            text = f"current_value {_shown(change, change.previous)}, should be {_shown(change, change.desired)} (noop)"
            self._add(handler, change, "noop", text, is_corrective)
            return False
        try:
            if handler.touches_node:
                self._before_change(handler)
            said = handler.apply(change)
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            before, after = _shown(change, change.previous), _shown(change, change.desired)
            text = f"change from {before} to {after} failed: {self._reason(error)}"
            self._add(handler, change, "failure", text, is_corrective)
            self._has_failed = True
            return False
        finally:
            if handler.touches_node:
                self._after_change(handler)
        self._add(handler, change, "success", said or change.message, is_corrective)
        return True

    def _flush(self, handler: Handler) -> None:
        try:
            handler.flush()
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            self._fail(handler.wanted.ref, f"Could not flush: {self._reason(error)}")
        finally:
            if handler.touches_node:
                self._after_change(handler)

    def _add(self, handler: Handler, change: Change, status: EventStatus, text: str, is_corrective: bool) -> None:
        secret = change.is_sensitive
        self._collect(handler)
        self._events.append(
            Event(
                handler.wanted.ref,
                status,
                text,
                change.property,
                REDACTED if secret else change.previous,
                REDACTED if secret else change.desired,
                is_corrective,
                None if secret else change.diff,
            )
        )

    def _audit(self, handler: Handler, found: Check, known: State) -> None:
        """Say what changed since the last run of the properties that are watched."""
        for name in audited(handler.wanted, found.state):
            if name not in found.state:
                continue
            now = found.state[name]
            if name not in known:
                handler.say("info", f"audit change: newly-recorded value {shown(now)}")
            elif not self._memory.is_same(known[name], now) and not any(c.property == name for c in found.changes):
                text = f"audit change: previously recorded value {shown(known[name])} has been changed to {shown(now)}"
                self._events.append(Event(handler.wanted.ref, "audit", text, name, known[name], now))

    def _remember(self, handler: Handler, found: Check, has_changed: bool) -> None:
        """Keep the state it is in now. What runs a user's command to read is not read again."""
        state = found.state
        if has_changed and handler.touches_node and not handler.runs_user_commands:
            try:
                state = handler.state_after()
            except Exception:  # noqa: BLE001 - the boundary to a handler: then there is nothing to remember
                return
            finally:
                handler.said()
        self._memory.keep(handler.wanted.ref, state, handler.wanted.secrets)

    def _refresh(self, handler: Handler, pending: Pending) -> None:
        ref = handler.wanted.ref
        if self._is_noop or not pending.real:
            count = pending.real + pending.noop
            self._events.append(Event(ref, "noop", f"Would have triggered 'refresh' from {_events(count)}"))
            return
        self._before_change(handler)
        try:
            handler.refresh()
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            self._collect(handler)
            self._fail(ref, f"Failed to call refresh: {self._reason(error)}")
            return
        finally:
            self._after_change(handler)
        self._collect(handler)
        self._events.append(Event(ref, "success", f"Triggered 'refresh' from {_events(pending.real + pending.noop)}"))

    def _reason(self, error: BaseException) -> str:
        """An error in one line; what to do about it is kept for the report."""
        if isinstance(error, PrecastError) and error.hint:
            self._hint = error.hint
        return reason_of(error)

    def _fail(self, ref: str, text: str) -> None:
        self._has_failed = True
        self._events.append(Event(ref, "failure", text))

    def _collect(self, handler: Handler) -> None:
        self._logs += [Log(handler.wanted.ref, level, text) for level, text in handler.said()]

    def report(self, said: Iterable[tuple[str, str]], seconds: float) -> ResourceReport:
        """What came of it."""
        wanted = self._handler.wanted
        return ResourceReport(
            wanted.ref,
            self._status(),
            tuple(self._events),
            (*(Log(wanted.ref, level, text) for level, text in said), *self._logs),
            hint=self._hint,
            level=str(wanted.metaparameters.get("loglevel", "notice")),
            seconds=round(seconds, 6),
            file=wanted.file,
            line=wanted.line,
        )

    def _status(self) -> Status:
        if self._has_failed:
            return Status.FAILED
        found = {event.status for event in self._events}
        return Status.CHANGED if "success" in found else Status.NOOP if "noop" in found else Status.UNCHANGED


def audited(wanted: Wanted, state: State) -> list[str]:
    """The properties that are watched."""
    given = wanted.metaparameters.get("audit")
    names = given if isinstance(given, list) else [] if given is None else [given]
    return list(state) if "all" in names else [str(name) for name in names]


def reason_of(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, PrecastError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


def _shown(change: Change, value: object) -> str:
    return REDACTED if change.is_sensitive else shown(value)


def _events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"
