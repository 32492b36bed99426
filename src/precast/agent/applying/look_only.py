"""A look-only run: one that the node's policy or settings forbid to enforce, and that no person started.

The author of its catalog may deploy an environment, and has no other right on the node. So the run executes nothing that the catalog
gives (`Handler.check_needs_trust`), calls no function of it, and reports nothing that it read from files which the catalog chose: a
report says that a resource or a property differs, and the values only of properties that are no content of a file. Otherwise a catalog
could have root read a secret and send it away as the previous value of a setting, or as a diff. Names are content, too: those of files
below a directory, and of keys in a file, are reported only if the catalog itself has them.
"""

from collections.abc import Callable, Collection, Mapping

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


def withhold_content(
    report: ResourceReport, messages: Collection[str] = (), is_named: Callable[[str], bool] = lambda ref: False
) -> ResourceReport:
    """The report without diffs, and without values, names and texts that may be the content of a file or of a directory.

    `messages` are the logs of the resource that were made before anything was read. `is_named` says whether the catalog has a resource
    that another one generated.
    """
    if not report.events and not report.logs:
        return report
    is_known = _type(report.resource) in _SHOWN
    logs = tuple(log for log in report.logs if is_known and log.message in messages)
    shown: list[Event] = []
    hidden: dict[str, Event] = {}
    for event in report.events:
        if event.resource == report.resource or is_named(event.resource):
            shown.append(_withhold(event))
        else:
            hidden.setdefault(event.status, _withhold_name(event, report.resource))
    return msgspec.structs.replace(report, events=(*shown, *hidden.values()), logs=logs)


def _withhold_name(event: Event, ref: str) -> Event:
    """One event for all resources with this status that were generated from what is on the node."""
    what = "could not be evaluated" if event.status == "failure" else "differ"
    return Event(ref, event.status, f"resources that it generates {what}; a look-only run does not report which")


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
