"""A look-only run: one that the node's policy or settings forbid to enforce, and that no person started.

The author of its catalog may deploy an environment, and has no other right on the node. So the run executes nothing that the catalog
gives (`Handler.check_needs_trust`), calls no function of it, and reports nothing that it read from files which the catalog chose: a
report says that a resource or a property differs, and the values only of properties that are no content of a file. Otherwise a catalog
could have root read a secret and send it away as the previous value of a setting, or as a diff.
"""

from collections.abc import Mapping

import msgspec

from precast.wire.reports.events import Event, ResourceReport

# The properties whose values are shown, by type. Of other types only `ensure` is, and no text that their handlers wrote.
_SHOWN: Mapping[str, frozenset[str]] = {
    "exec": frozenset({"returns"}),
    "file": frozenset({"ensure", "owner", "group", "mode"}),
    "group": frozenset({"ensure", "gid", "members"}),
    "notify": frozenset({"message"}),
    "package": frozenset({"ensure", "mark"}),
    "service": frozenset({"ensure", "enable"}),
    "user": frozenset({"ensure", "uid", "gid", "groups", "home", "shell", "comment"}),
}
_OF_OTHERS = frozenset({"ensure"})


def not_evaluated(why: str) -> str:
    """The reason in the report of a resource whose check needs trust in the catalog."""
    return f"not evaluated: {why}, and this node only looks until a policy permits enforcing"


def withhold_content(report: ResourceReport) -> ResourceReport:
    """The report without diffs, and without values and texts that may be the content of a file."""
    if not report.events and not report.logs:
        return report
    logs = report.logs if _type(report.resource) in _SHOWN else ()
    return msgspec.structs.replace(report, events=tuple(map(_withhold, report.events)), logs=logs)


def _withhold(event: Event) -> Event:
    of_type = _SHOWN.get(_type(event.resource))
    if event.property is None:
        is_shown = of_type is not None or event.status != "failure"
        message = event.message if is_shown else "could not be evaluated; a look-only run does not report the reason"
        return msgspec.structs.replace(event, message=message, diff=None)
    if event.property in (of_type or _OF_OTHERS):
        return msgspec.structs.replace(event, diff=None)
    message = f"{event.property} differs; a look-only run does not report its values ({event.status})"
    return msgspec.structs.replace(event, message=message, previous=None, desired=None, diff=None)


def _type(ref: str) -> str:
    return ref.partition("[")[0].lower()
