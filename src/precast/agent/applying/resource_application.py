"""Applies one resource: check, change, refresh, and the events that report it.

Nothing on the node is changed before `before_change` was called, which discards the checks that were made ahead. In no-op a resource is
checked and its pending changes are reported; neither `apply` nor `refresh` of its handler is called.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from precast.agent.applying.checks import Check, check
from precast.agent.applying.resource_memory import ResourceMemory
from precast.base.errors import PrecastError
from precast.base.scrubbing import REDACTED
from precast.resources.contract import Change, DesiredResource, Handler, State
from precast.resources.properties import format_value
from precast.wire.reports.events import Event, EventStatus, Log, ResourceReport, Status


class PendingRefreshes(NamedTuple):
    """The refreshes that a resource is to receive: real ones, and those that a no-op run would have sent."""

    real: int = 0
    noop: int = 0


NO_REFRESHES = PendingRefreshes()


class ResourceApplication:
    """Applies one resource with the resources that its handler generates. Used once."""

    def __init__(
        self,
        handler: Handler,
        *,
        is_noop: bool,
        memory: ResourceMemory,
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

    def run(self, checked: Check, pending: PendingRefreshes) -> None:
        """Apply the resource and then refresh it. `checked` is a check that is still valid."""
        self._converge(self._handler, checked)
        if self._handler.gives_value and not self._is_noop and not self._has_failed:
            self._give(self._handler)
        if (pending.real or pending.noop) and self._reacts(self._handler):
            self._refresh(self._handler, pending)

    def _reacts(self, handler: Handler) -> bool:
        try:
            return handler.reacts_to_refresh and not handler.is_fresh
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            if not self._has_failed:
                self._fail(handler.resource.ref, f"Could not evaluate: {self._describe(error)}")
            return False

    def _converge(self, handler: Handler, checked: Check | None) -> None:
        """Bring a resource, and then the resources that its handler generates, to the desired state."""
        checked = checked if checked is not None else check(handler)
        if checked.error is not None:
            self._collect_logs(handler)
            self._fail(handler.resource.ref, f"Could not evaluate: {self._describe(checked.error)}")
            return
        children: Sequence[tuple[Handler, Check | None]] = checked.children
        if checked.changes:
            # The children are listed before the change is made, and checked after it.
            children = [(child, None) for child in self._expand(handler, checked.state)]
        if not self._change(handler, checked):
            return  # children are like dependents: below a directory that could not be created there is nothing to do
        for child, child_check in children:
            is_valid = child_check is not None and not any(event.status == "success" for event in self._events)
            self._converge(child, child_check if is_valid else None)

    def _expand(self, handler: Handler, state: State) -> Iterable[Handler]:
        try:
            return handler.expand(state)
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            self._fail(handler.resource.ref, f"Could not evaluate: {self._describe(error)}")
            return ()

    def _change(self, handler: Handler, checked: Check) -> bool:
        """Make the changes; False if one failed."""
        ref = handler.resource.ref
        known = self._memory.state(ref) if checked.changes or "audit" in handler.resource.metaparameters else {}
        self._audit(handler, checked, known)
        changes = [handler.redact(change) for change in checked.changes]
        outcomes = [
            self._apply(handler, change, shown, self._is_corrective(change, checked.state, known))
            for change, shown in zip(checked.changes, changes, strict=True)
        ]
        if not self._is_noop and True in outcomes:
            self._flush(handler)
        self._collect_logs(handler)
        if not self._is_noop:
            self._remember(handler, checked, has_changed=True in outcomes)
        return self._is_noop or False not in outcomes

    def _is_corrective(self, change: Change, state: State, known: State) -> bool:
        """Whether a change undoes one that no run has made. A change that shows no values has those of the state."""
        remembered = known.get(change.property)
        previous = state.get(change.property) if change.is_sensitive else change.previous
        return remembered is not None and not self._memory.is_same(remembered, previous)

    def _apply(self, handler: Handler, change: Change, shown: Change, is_corrective: bool) -> bool:
        """Make one change, and report it as `shown`; False if it was not made."""
        before, after = (
            _shown(shown, shown.previous, shown.previous_text),
            _shown(shown, shown.desired, shown.desired_text),
        )
        if self._is_noop:
            text = f"current_value {before}, should be {after} (noop)"
            self._add(handler, shown, "noop", text, is_corrective)
            return False
        try:
            if handler.touches_node:
                self._before_change(handler)
            said = handler.apply(change)
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            text = f"change from {before} to {after} failed: {self._describe(error)}"
            self._add(handler, shown, "failure", text, is_corrective)
            self._has_failed = True
            return False
        finally:
            if handler.touches_node:
                self._after_change(handler)
        text = said if said and shown is change else shown.message
        self._add(handler, shown, "success", text, is_corrective)
        return True

    def _flush(self, handler: Handler) -> None:
        try:
            handler.flush()
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            self._fail(handler.resource.ref, f"Could not flush: {self._describe(error)}")
        finally:
            if handler.touches_node:
                self._after_change(handler)

    def _add(self, handler: Handler, change: Change, status: EventStatus, text: str, is_corrective: bool) -> None:
        is_secret = change.is_sensitive
        self._collect_logs(handler)
        self._events.append(
            Event(
                handler.resource.ref,
                status,
                text,
                change.property,
                REDACTED if is_secret else change.previous,
                REDACTED if is_secret else change.desired,
                is_corrective,
                None if is_secret else change.diff,
            )
        )

    def _audit(self, handler: Handler, checked: Check, known: State) -> None:
        """Report changes of audited properties since the last run."""
        for name in audited_properties(handler.resource, checked.state):
            if name not in checked.state:
                continue
            now, is_secret = checked.state[name], name in handler.secret_properties
            if name not in known:
                handler.log("info", f"audit change: newly-recorded value {_format(now, is_secret)}")
            elif not self._memory.is_same(known[name], now) and not any(
                change.property == name for change in checked.changes
            ):
                before, after = _format(known[name], is_secret), _format(now, is_secret)
                text = f"audit change: previously recorded value {before} has been changed to {after}"
                values = (REDACTED, REDACTED) if is_secret else (known[name], now)
                self._events.append(Event(handler.resource.ref, "audit", text, name, *values))

    def _remember(self, handler: Handler, checked: Check, has_changed: bool) -> None:
        """Remember the current state. It is not read again if that would run a command of the user."""
        state = checked.state
        if has_changed and (handler.touches_node or handler.gives_value) and not handler.runs_user_commands:
            try:
                state = handler.state_after()
            except Exception:  # noqa: BLE001 - the boundary to a handler: then there is no state to remember
                return
            finally:
                handler.take_logs()
        self._memory.remember(handler.resource.ref, state, handler.secret_properties)

    def _give(self, handler: Handler) -> None:
        """Let the resource give other nodes what it gives, whether or not anything has changed."""
        try:
            change = handler.give()
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            self._collect_logs(handler)
            self._fail(handler.resource.ref, f"Could not be promised: {self._describe(error)}")
            return
        self._collect_logs(handler)
        if change is not None:
            self._add(handler, change, "success", change.message, is_corrective=False)

    def _refresh(self, handler: Handler, pending: PendingRefreshes) -> None:
        ref = handler.resource.ref
        if self._is_noop or not pending.real:
            count = pending.real + pending.noop
            self._events.append(Event(ref, "noop", f"Would have triggered 'refresh' from {_count_events(count)}"))
            return
        self._before_change(handler)
        try:
            handler.refresh()
        except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
            self._collect_logs(handler)
            self._fail(ref, f"Failed to call refresh: {self._describe(error)}")
            return
        finally:
            self._after_change(handler)
        self._collect_logs(handler)
        count = pending.real + pending.noop
        self._events.append(Event(ref, "success", f"Triggered 'refresh' from {_count_events(count)}"))

    def _describe(self, error: BaseException) -> str:
        """Describe an error in one line, and store its hint for the report."""
        if isinstance(error, PrecastError) and error.hint:
            self._hint = error.hint
        return describe_error(error)

    def _fail(self, ref: str, text: str) -> None:
        self._has_failed = True
        self._events.append(Event(ref, "failure", text))

    def _collect_logs(self, handler: Handler) -> None:
        self._logs += [Log(handler.resource.ref, level, text) for level, text in handler.take_logs()]

    def report(self, messages: Iterable[tuple[str, str]], seconds: float) -> ResourceReport:
        """The report of the resource; `messages` are those that its handler logged when it was made."""
        resource = self._handler.resource
        return ResourceReport(
            resource.ref,
            self._status(),
            tuple(self._events),
            (*(Log(resource.ref, level, text) for level, text in messages), *self._logs),
            hint=self._hint,
            level=str(resource.metaparameters.get("loglevel", "notice")),
            applied_by=self._handler.applied_by,
            seconds=round(seconds, 6),
            file=resource.file,
            line=resource.line,
        )

    def _status(self) -> Status:
        if self._has_failed:
            return Status.FAILED
        statuses = {event.status for event in self._events}
        return Status.CHANGED if "success" in statuses else Status.NOOP if "noop" in statuses else Status.UNCHANGED


def audited_properties(resource: DesiredResource, state: State) -> list[str]:
    """The properties that the metaparameter `audit` names."""
    audit = resource.metaparameters.get("audit")
    names = audit if isinstance(audit, list) else [] if audit is None else [audit]
    return list(state) if "all" in names else [str(name) for name in names]


def describe_error(error: BaseException) -> str:
    """Describe an error in one line."""
    if isinstance(error, PrecastError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


def _shown(change: Change, value: object, text: str | None) -> str:
    return _format(value, change.is_sensitive) if text is None or change.is_sensitive else text


def _format(value: object, is_secret: bool) -> str:
    return REDACTED if is_secret else format_value(value)


def _count_events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"
