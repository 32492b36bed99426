"""Routes about maintenance windows."""

from precast.api.http.routes import OPERATOR, VIEWER, Call, route
from precast.services.issues import BAD_VALUE, NO_SUCH_NODE, UNPRINTABLE
from precast.services.query import issues as query_issues
from precast.services.windows import issues
from precast.services.windows.definitions import WindowDefinitions
from precast.services.windows.openings import WindowService
from precast.wire import issues as wire_issues
from precast.wire.windows.bodies import (
    CLASSES,
    BindingBody,
    BindingRow,
    BindingView,
    OpeningView,
    WindowBody,
    WindowRow,
    WindowView,
)

_PATH = "/v1/windows/{window}"
_TEXT_ERRORS = (BAD_VALUE, UNPRINTABLE)
_TARGET_ERRORS = (
    *(wire_issues.TARGET_SYNTAX, wire_issues.UNKNOWN_FIELD, wire_issues.BAD_PATTERN, wire_issues.TARGET_TOO_LARGE),
    query_issues.TARGETS_TOO_SLOW,
)
_EXPANSION_ERRORS = (wire_issues.BAD_WINDOW, issues.BAD_CALENDAR, issues.UNKNOWN_ZONE)


class WindowsApi:
    """Handles the routes of maintenance windows."""

    def __init__(self, definitions: WindowDefinitions, openings: WindowService) -> None:
        self._definitions, self._openings = definitions, openings

    @route("GET", "/v1/windows", VIEWER, "The maintenance windows, and when each is open next", list[WindowRow])
    async def list_windows(self, call: Call) -> list[WindowRow]:
        return await self._definitions.list_windows()

    @route(
        "GET",
        _PATH,
        VIEWER,
        "A window with its bindings and its next intervals",
        WindowView,
        errors=(issues.NO_WINDOW,),
    )
    async def show(self, call: Call) -> WindowView:
        return await self._definitions.show(call.path["window"])

    @route(
        "POST",
        _PATH,
        OPERATOR,
        "Create or replace a window by simple rules or an iCalendar file",
        WindowRow,
        body=WindowBody,
        errors=(issues.BAD_WINDOW_NAME, issues.BAD_WINDOW, *_EXPANSION_ERRORS, *_TEXT_ERRORS),
    )
    async def put(self, call: Call) -> WindowRow:
        return await self._definitions.put(call.path["window"], call.body, call.actor)

    @route(
        "DELETE",
        _PATH,
        OPERATOR,
        "Remove a window that is not bound",
        WindowRow,
        query=("why",),
        errors=(issues.NO_WINDOW, issues.STILL_BOUND, *_TEXT_ERRORS),
    )
    async def remove(self, call: Call) -> WindowRow:
        return await self._definitions.remove(call.path["window"], call.actor, call.query.get("why", ""))

    @route(
        "POST",
        f"{_PATH}/bindings",
        OPERATOR,
        "Bind a window to the nodes of a target, for classes of actions",
        BindingView,
        body=BindingBody,
        errors=(issues.NO_WINDOW, issues.BAD_WINDOW, *_TARGET_ERRORS, *_TEXT_ERRORS),
    )
    async def bind(self, call: Call) -> BindingView:
        return await self._definitions.bind(call.path["window"], call.body, call.actor)

    @route(
        "DELETE",
        f"{_PATH}/bindings",
        OPERATOR,
        "Remove the binding of a window to exactly this target",
        BindingRow,
        query=("target", "why"),
        errors=(issues.NO_WINDOW, issues.NO_BINDING, *_TEXT_ERRORS),
    )
    async def unbind(self, call: Call) -> BindingRow:
        target, why = call.query.get("target", ""), call.query.get("why", "")
        return await self._definitions.unbind(call.path["window"], target, call.actor, why)

    @route(
        "GET",
        "/v1/nodes/{node}/openings",
        VIEWER,
        "When actions may begin on a node: now or next, for one class of actions or all",
        list[OpeningView],
        query=("class",),
        errors=(NO_SUCH_NODE, issues.BAD_WINDOW, *_TARGET_ERRORS),
    )
    async def explain(self, call: Call) -> list[OpeningView]:
        class_ = call.query.get("class", "")
        if class_ and class_ not in CLASSES:
            raise issues.BAD_WINDOW.error(reason=f"{class_[:40]!r} is none of the classes {', '.join(CLASSES)}")
        classes = (class_,) if class_ else CLASSES
        return await self._openings.explain(call.path["node"], classes)
