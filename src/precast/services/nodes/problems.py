"""The problems of a site that `status` reports: each is one line, and a hint that names the next step.

A problem is found in the counts of a `StatusView` alone. Whatever has something to report adds a count with a default to that view, lets
`StatusService.show` read it, and yields a problem here. Level `warning` needs attention, level `broken` means that the site does not do
its work. Level `note` is for what a healthy site may have: `precast status` ends with 0 only if there is no problem of another level.
"""

from collections.abc import Iterator
from datetime import timedelta

from precast.wire.nodes.status import NOTE, DatabaseStatus, DiskStatus, Problem, StatusView

LOW_DISK_SHARE = 0.10
FULL_DISK_SHARE = 0.02
NAMED = 5
# How many failing nodes a status lists.
FAILING_SHOWN = 1000
LONG_WAIT = timedelta(minutes=10)
AUTHORITY_WARNING = timedelta(days=60)
SLOW_ANSWER_S = 0.5
HELD_NAMED = 5
FAR_BEHIND_S = 60.0


def find_problems(view: StatusView) -> Iterator[Problem]:
    """Yield the problems that the counts of a status show."""
    yield from _check_disk(view.disk)
    if view.clock is not None:
        yield Problem("warning", f"{view.clock.text}: nothing is deleted by age", view.clock.hint)
    if view.authority_until - view.now < AUTHORITY_WARNING:
        level, verb = ("broken", "has expired at") if view.authority_until <= view.now else ("warning", "expires at")
        text = f"the authority's certificate {verb} {view.authority_until:%Y-%m-%d %H:%M:%SZ}"
        yield Problem(level, text, "replace it with `precast ca rotate`")
    for queue in view.queues:
        if queue.dead:
            yield Problem(
                "warning", f"dead letters of {queue.kind}: {queue.dead}", "`precast db work --dead` shows them"
            )
        if queue.oldest_at is not None and view.now - queue.oldest_at > LONG_WAIT:
            minutes = (view.now - queue.oldest_at).total_seconds() / 60
            yield Problem(
                "warning",
                f"the oldest item of {queue.kind} has waited for {minutes:.0f} minutes",
                "`precast db work --items` shows the waiting items",
            )
    yield from _check_roles(view)
    if view.signer_trouble:
        yield Problem(
            "broken",
            f"the signer does not answer, so no node can enrol or renew: {view.signer_trouble}",
            "check that it runs, and the setting `signer` of the server",
        )
    yield from _check_nodes(view)
    if view.unanswered:
        text = f"the external node classifier failed for {_nodes(view.unanswered)}; its last answers stay in effect"
        yield Problem("warning", text, "`precast node show NODE` shows the reason")
    if view.held:
        names = ", ".join(view.held[:HELD_NAMED]) + (", …" if len(view.held) > HELD_NAMED else "")
        text = (
            f"nodes on hold, because two machines use one certificate, or one was set back to an earlier state: {names}"
        )
        hint = f"`precast node show {view.held[0]}` shows the machines; choose one with `precast node choose-machine`"
        yield Problem("warning", text, hint)
    yield from _check_catalogs(view)
    yield from _check_database(view.database)


def _check_catalogs(view: StatusView) -> Iterator[Problem]:
    if view.code_errors:
        text = f"the code of {_nodes(view.code_errors)} gives an error: no new catalog can be staged"
        yield Problem("warning", text, "`precast catalog errors` shows the errors")
    if view.export_loops:
        text = f"the exports of {_nodes(view.export_loops)} are part of a loop: their catalogs are held back"
        yield Problem("warning", text, "`precast catalog errors` shows the loops")
    if view.unread_source_documents:
        count = "1 document" if view.unread_source_documents == 1 else f"{view.unread_source_documents} documents"
        text = f"{count} of secret sources could not be read: compiles use what was read before"
        yield Problem("warning", text, "`precast secrets sources` shows why")
    if view.flawed_catalogs:
        # Nothing of it has failed: a run that does is a warning above. A module may also do well without one of its facts.
        text = f"the staged catalogs of {_nodes(view.flawed_catalogs)} have problems that a run could meet"
        yield Problem(NOTE, text, "`precast catalog errors` shows them; `missing_module_facts` decides about facts")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _check_database(database: DatabaseStatus) -> Iterator[Problem]:
    if database.answer_s > SLOW_ANSWER_S:
        yield Problem(
            "warning", f"the database took {database.answer_s:.1f} s to answer", "check its load and its disk"
        )
    if database.behind_s is not None and database.behind_s > FAR_BEHIND_S:
        yield Problem(
            "warning", f"a replica is {database.behind_s:.0f} s behind", "check the replica before you need it"
        )


def _check_roles(view: StatusView) -> Iterator[Problem]:
    """Find a role that no running server has. A server without some of the roles lists those that it has in its name."""
    for role, what in (("compiler", "nothing is compiled"), ("scheduler", "no run or other scheduled work goes on")):
        if view.servers and not any(_has_role(server.name, role) for server in view.servers):
            hint = f"start a server with the role: `precast server --role {role}`"
            yield Problem("broken", f"no server has the role {role}: {what}", hint)


def _has_role(server_name: str, role: str) -> bool:
    _, bracket, roles = server_name.partition(" [")
    return not bracket or role in roles.rstrip("]").split(", ")


def _check_nodes(view: StatusView) -> Iterator[Problem]:
    if view.failing:
        names = ", ".join(view.failing[:NAMED]) + (", …" if len(view.failing) > NAMED else "")
        count = f"{len(view.failing)} or more" if len(view.failing) >= FAILING_SHOWN else len(view.failing)
        text = f"nodes whose last run failed: {count} ({names})"
        yield Problem("warning", text, "`precast report list --failed` and `precast report show` show why")
    if away := view.nodes.get("away", 0):
        text = f"nodes that are not connected: {away}"
        yield Problem("warning", text, "`precast node list` shows them; `precast node deactivate` those that are gone")
    if expired := view.nodes.get("expired", 0):
        text = f"nodes whose certificate has expired: {expired}"
        yield Problem("warning", text, "start their agents, or `precast node deactivate` those that are gone")


def _check_disk(disk: DiskStatus) -> Iterator[Problem]:
    share = disk.free_bytes / disk.size_bytes
    if share < LOW_DISK_SHARE:
        level = "broken" if share < FULL_DISK_SHARE else "warning"
        yield Problem(level, f"{disk.path} has {share:.0%} free space", "free some, or move the data to a larger disk")
