"""Tests that ask what a no-op run would change: of one resource, or of a catalog. They run nothing, and report nothing to a server."""

from datetime import UTC, datetime

from precast.agent.applying.options import RunOptions
from precast.agent.applying.run import RunRequest, look
from precast.agent.catalog.enforcement import trusts_code
from precast.agent.tasks.catalogs import CatalogAccess, has_resources, load_part
from precast.agent.tasks.context import StepOutcome, TaskContext, failed
from precast.base.spans import visible
from precast.catalog.body import Body, ResourceData
from precast.wire.jobs.programs import CleanTest, ResourceTest
from precast.wire.reports.events import ResourceReport, Status

# Resources that the reason names.
MAX_NAMED = 5
PASSED = StepOutcome(True)
_IN_SYNC = (Status.UNCHANGED, Status.CHANGED)


def check_resource(context: TaskContext, test: ResourceTest) -> StepOutcome:
    """Passes if a resource is in sync."""
    name = "::".join(part.capitalize() for part in test.type.split("::"))
    resource = ResourceData(name, test.title, test.parameters, (test.type.lower(),))
    request = RunRequest(Body((resource,), (), (), (), {}), None, root=context.root)
    return _judge(_look(context, request, RunOptions(is_noop=True)))


def check_clean(context: TaskContext, test: CleanTest, access: CatalogAccess) -> StepOutcome:
    """Passes if a catalog, or a part of it, is in sync. On a look-only node, a resource that is not evaluated does not count as in sync."""
    if test.work is None:
        return failed("it names no catalog", is_final=True)
    loaded = load_part(context, test.work, access.versions)
    if not has_resources(loaded.part):
        return failed(f"the catalog has no resource of {loaded.selection}", is_final=True)
    is_trusted = trusts_code(context.root, datetime.now(UTC), is_noop_configured=context.settings.noop)
    options = RunOptions(is_noop=True, is_look_only=not is_trusted)
    return _judge(_look(context, loaded.request(context, access), options))


def _look(context: TaskContext, request: RunRequest, options: RunOptions) -> list[ResourceReport]:
    """The reports of resources that are not in sync."""
    reports: list[ResourceReport] = []
    look(request, options, context.store, reports.append)
    return [report for report in reports if not _is_in_sync(report)]


def _is_in_sync(report: ResourceReport) -> bool:
    """Whether nothing is pending: a resource that its schedule or its tags leave out is not looked at, and none of its changes would be."""
    if report.status is Status.SKIPPED:
        return not (report.reason or "").startswith("not evaluated")
    return report.status in _IN_SYNC


def _judge(pending: list[ResourceReport]) -> StepOutcome:
    if not pending:
        return PASSED
    named = [_describe(report) for report in pending[:MAX_NAMED]]
    rest = f" and {len(pending) - MAX_NAMED} more" if len(pending) > MAX_NAMED else ""
    count = f"{len(pending)} resource{' is' if len(pending) == 1 else 's are'} not in sync"
    return failed(f"{count}: {'; '.join(named)}{rest}")


def _describe(report: ResourceReport) -> str:
    why = report.reason or "; ".join(event.message for event in report.events)
    return visible(f"{report.resource}: {why}" if why else f"{report.resource}: {report.status.value}")
