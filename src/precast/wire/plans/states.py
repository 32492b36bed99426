"""The states of a task on a node as people see them, by the state of its attempt.

pending, ready          QUEUED: it waits for others; it may begin
testing, running, verifying   PICKED_UP, by its phase
successful              COMPLETED
failed                  FAILED, EXPIRED
dep_failed              SKIPPED(dep-failed): what it waits for has failed
skipped                 SKIPPED for another reason: its condition is false, it was not chosen, its node is away
cancelled               CANCELLED: the run was stopped before it began; a resume goes on with it
"""

from precast.wire.jobs import states

PENDING, READY, TESTING, RUNNING, VERIFYING = "pending", "ready", "testing", "running", "verifying"
SUCCESSFUL, FAILED, DEP_FAILED, SKIPPED, CANCELLED = "successful", "failed", "dep_failed", "skipped", "cancelled"
ORDER = (PENDING, READY, TESTING, RUNNING, VERIFYING, SUCCESSFUL, FAILED, DEP_FAILED, SKIPPED, CANCELLED)
ENDS = (SUCCESSFUL, FAILED, DEP_FAILED, SKIPPED, CANCELLED)

_BY_PHASE = {"pre-test": TESTING, "task": RUNNING, "post-test": VERIFYING}
_ENDS = {
    states.COMPLETED: SUCCESSFUL,
    states.FAILED: FAILED,
    states.EXPIRED: FAILED,
    states.CANCELLED: CANCELLED,
}


def state_of(state: str, reason: str | None, phase: str | None, *, has_turn: bool) -> str:
    """The state of a task on a node, by the state, reason and phase of its newest attempt, and whether that has its turn."""
    if state == states.QUEUED:
        return READY if has_turn else PENDING
    if state == states.PICKED_UP:
        return _BY_PHASE.get(phase or "", RUNNING)
    if state == states.SKIPPED:
        return DEP_FAILED if reason == states.DEP_FAILED else SKIPPED
    return _ENDS[state]
