"""The states of attempts, exactly, and the reasons of those that have one.

    QUEUED -> PICKED_UP -> COMPLETED | FAILED(reason)
    QUEUED -> CANCELLED | EXPIRED | SKIPPED(reason) | FAILED(unreachable, purged, refused, aborted, deadlock, stale-value)

A retry is a new attempt. The state of a step is the state of its newest attempt. Runs, commands and actions show these states.
"""

QUEUED, PICKED_UP = "QUEUED", "PICKED_UP"
COMPLETED, FAILED, CANCELLED, EXPIRED, SKIPPED = "COMPLETED", "FAILED", "CANCELLED", "EXPIRED", "SKIPPED"
OPEN_STATES = (QUEUED, PICKED_UP)
END_STATES = (COMPLETED, FAILED, CANCELLED, EXPIRED, SKIPPED)
# Where each state may go to.
MOVES: dict[str, tuple[str, ...]] = {
    QUEUED: (PICKED_UP, CANCELLED, EXPIRED, SKIPPED, FAILED),
    PICKED_UP: (COMPLETED, FAILED),
    **dict.fromkeys(END_STATES, ()),
}

# Reasons of FAILED. Only those of FAILED_UNSEEN may follow QUEUED: the node has not begun.
NOT_SUCCESSFUL = "failed"
ABORTED, REFUSED, NOOP_ONLY, INTERRUPTED = "aborted", "refused", "no-op-only", "interrupted"
LOST, UNREACHABLE, PURGED, DEADLOCK = "lost", "unreachable", "purged", "deadlock"
# A test of a task of a plan has failed: before the task, which then did not begin, or after it.
PRE_TEST, POST_TEST = "pre-test", "post-test"
# It was given a value that is promised again, and the job fails such nodes rather than to run them again.
STALE_VALUE = "stale-value"
FAILED_UNSEEN = (UNREACHABLE, PURGED, REFUSED, ABORTED, DEADLOCK, STALE_VALUE)
# Reasons of SKIPPED.
AWAY, HALTED, NOT_RELEASED = "away", "halted", "not-released"
# Of tasks of plans: its condition is false, it was not chosen, it has nothing to do, what it waits for has failed.
CONDITION, NOT_CHOSEN, NO_WORK, DEP_FAILED = "condition", "not-chosen", "no-work", "dep-failed"
# Why an attempt is QUEUED, besides AWAY. Computed for views, and not stored. None: it may begin, and its node has not claimed it yet.
TURN, LOCK, WINDOW = "turn", "lock", "window"

# States of jobs. Those in the second line are final.
GOING, STOPPING, HALTING, ABORTING = "going", "stopping", "halting", "aborting"
DONE, STOPPED, HALTED_JOB, ABORTED_JOB = "done", "stopped", "halted", "aborted"
JOB_ENDS = {GOING: DONE, STOPPING: STOPPED, HALTING: HALTED_JOB, ABORTING: ABORTED_JOB}
