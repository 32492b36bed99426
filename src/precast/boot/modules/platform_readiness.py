"""Reports to the platform that the machine is ready: Azure marks a machine that does not report as failed.

The module runs when users can log in. It does not wait for the user's own commands, which may take longer than the platform waits.
"""

from collections.abc import Callable

from precast.boot.capabilities import Capability
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Frequency, Module, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome

_REASON = "users may log in as soon as the platform has the report"


def report_ready(context: ModuleContext) -> ModuleOutcome:
    """Report to the platform, if it expects a report. Raises UnavailableError BOOT-100, BOOT-112."""
    post: Callable[[], None] | None = context.get_value(Capability.READY_POST)
    if post is None:
        context.outcome.not_run = "the platform expects no report"
        return context.outcome
    context.record_change("report to the platform that the machine is ready")
    if not context.is_dry_run:
        post()
    return context.outcome


def _always(_: Config) -> bool:
    return True


MODULES = (
    Module(
        "report_ready",
        report_ready,
        {},
        uses=frozenset({Capability.READY_POST}),
        frequency=Frequency.BOOT,
        after=tuple(Predecessor(name, _REASON) for name in ("users", "passwords", "ssh", "hostname")),
        has_work=_always,
    ),
)
