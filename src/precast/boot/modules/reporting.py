"""Tells a platform that waits for it that the machine is set up: Azure marks one as failed that stays silent.

People can log in by then; what the user's own commands do may take longer than a platform waits, so it does not wait for them.
"""

from collections.abc import Callable

from precast.boot.capabilities import Capability
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Frequency, Module
from precast.boot.modules.outcomes import Outcome

_REASON = "whoever is told may log in at once"


def report(context: Context) -> Outcome:
    """Say it, where somebody listens. Raises UnavailableError BOOT-100, BOOT-112."""
    tell: Callable[[], None] | None = context.value(Capability.READY_POST)
    if tell is None:
        context.outcome.not_run = "no platform waits to hear it"
        return context.outcome
    context.changed("tell the platform that the machine is ready")
    if not context.is_dry_run:
        tell()
    return context.outcome


def _always(_: Config) -> bool:
    return True


MODULES = (
    Module(
        "report_ready",
        report,
        {},
        uses=frozenset({Capability.READY_POST}),
        frequency=Frequency.BOOT,
        after=tuple(After(name, _REASON) for name in ("users", "passwords", "ssh", "hostname")),
        is_wanted=_always,
    ),
)
