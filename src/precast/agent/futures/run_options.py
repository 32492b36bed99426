"""What a run may do with futures, and the values that it gets."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from precast.agent.futures.run_values import THIS_NODE, RunValues
from precast.agent.state.status_notes import CertificateNote
from precast.agent.state.store import LocalStore

if TYPE_CHECKING:  # a run without servers needs no spool
    from precast.agent.state.spool import SpoolLimits


class FutureOptions(NamedTuple):
    """What a run may do with futures."""

    is_released: bool = False  # servers have given the catalog to this node, so they are told what it promises
    attempt: str = ""  # of the job that the run belongs to
    is_last_try: bool = True  # what fails now is not tried again in this attempt


class RunReport(NamedTuple):
    """The report of a run that has the lease, by which servers know it."""

    report: str
    fence: int
    limits: "SpoolLimits"


def open_values(
    options: FutureOptions,
    store: LocalStore,
    reopen: Callable[[], LocalStore],
    catalog: str,
    report: RunReport | None,
    *,
    is_noop: bool,
) -> RunValues:
    """The values of a run. Without a report, or of a catalog that no server has given, nothing is told to servers."""
    from precast.agent.futures.stored_values import RunIdentity, StoredRunValues  # most catalogs have no futures
    from precast.agent.state.spool import SpoolLimits

    certificate = store.read_note(CertificateNote)
    told = report if options.is_released else None
    run = RunIdentity(
        catalog,
        certificate.name if certificate is not None else THIS_NODE,
        options.attempt,
        "" if told is None else told.report,
        0 if report is None else report.fence,
        is_noop,
        options.is_last_try,
    )
    return StoredRunValues(reopen, run, SpoolLimits() if told is None else told.limits)
