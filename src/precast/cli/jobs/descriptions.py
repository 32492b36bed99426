"""The words for jobs and steps: states with their reasons, counts, results, and why a step has not begun."""

from precast.base.spans import visible
from precast.wire.jobs import states
from precast.wire.jobs.views import JobView, StepResult, StepView

# A job in this state is printed by another word. The states of steps are printed as they are.
JOB_WORDS = {states.GOING: "running"}
# The order in which counts are printed.
ORDER = (*states.END_STATES, states.PICKED_UP, states.QUEUED)
# Why a step has not begun.
WAITS = {
    states.AWAY: "its node is away",
    states.TURN: "it waits for its turn",
    states.LOCK: "something else changes the node",
    states.WINDOW: "its maintenance window is closed",
}
MAY_BEGIN = "it may begin"
# A shorter duration is not printed.
MIN_SHOWN_S = 0.1


def describe_job_state(state: str) -> str:
    """The printed word for the state of a job."""
    return JOB_WORDS.get(state, state)


def describe_state(step: StepView) -> str:
    """The state of a step, with its reason unless the reason says nothing more."""
    return step.state if step.state == states.QUEUED else format_state(step.state, step.reason)


def format_state(state: str, reason: str | None) -> str:
    return f"{state}({reason})" if reason and reason != states.NOT_SUCCESSFUL else state


def describe_counts(job: JobView) -> str:
    """How many nodes are in each state, final states first, and apart by reason."""
    parts = []
    for state in ORDER:
        reasons = {text: count for text, count in job.reasons.items() if text.startswith(f"{state}(")}
        plain_reason = f"{state}({states.NOT_SUCCESSFUL})"
        plain = job.counts.get(state, 0) - sum(reasons.values()) + reasons.pop(plain_reason, 0)
        parts += [f"{plain} {state}"] if plain else []
        parts += [f"{count} {text}" for text, count in reasons.items()]
    return ", ".join(parts) or "no nodes"


def describe_step(step: StepView, mode: str | None) -> str:
    """What is known of a step besides its state; `mode` is the one that the job asks for."""
    if step.state == states.QUEUED:
        return visible(step.message) if step.message else WAITS.get(step.reason or "", MAY_BEGIN)
    result = step.result
    parts = [describe_result(result)] if result is not None else []
    if result is not None and result.is_noop and mode == "enforce" and not step.message:
        parts.append("no-op, because of its policy")  # the agent gave no reason
    parts += [visible(step.message)] if step.message else []
    parts += [f"its result came after the deadline: {step.late}"] if step.late else []
    took_s = (step.ended_at - step.picked_up_at).total_seconds() if step.picked_up_at and step.ended_at else 0.0
    parts += [f"{took_s:.1f} s"] if took_s >= MIN_SHOWN_S else []
    parts += [f"attempt {step.attempt}"] if step.attempt > 1 else []
    if step.report is not None and step.state == states.FAILED:
        parts.append(f"see `precast report show {step.report}`")
    return "; ".join(part for part in parts if part)


def describe_result(result: StepResult) -> str:
    """The resources of a run by state; of a command only how much of its output is cut."""
    if result.code is not None or result.signal is not None:
        return _describe_cut(result) if result.cut_bytes else ""
    if result == StepResult(returned=result.returned):
        return visible(result.returned)
    counts = (
        (result.changed, "changed"),
        (result.pending, "pending"),
        (result.failed, "failed"),
        (result.skipped, "skipped"),
        (result.waiting, "waiting"),
        (result.corrective, "corrective"),
    )
    words = [f"{count} {word}" for count, word in counts if count]
    text = f"{', '.join(words)} of {result.resources}" if words else f"{result.resources} in sync"
    return text + (", stale" if result.is_stale else "")


def _describe_cut(result: StepResult) -> str:
    """How much of the output is not among the lines, and where it is."""
    cut, whole = f"{result.cut_bytes} bytes of output are cut", result.output
    if whole is None:
        return cut
    if whole.error:
        return f"{cut}, and all {whole.size} bytes are not stored: {visible(whole.error)}"
    return f"{cut}; `precast exec output` has all {whole.size} bytes"


def describe_work(job: JobView) -> str:
    """The command of an exec job; the mode and the tags of a run; else the kind."""
    if job.argv:
        return " ".join(job.argv)
    return job.kind if job.mode is None else f"{job.mode}{' ' + ','.join(job.tags) if job.tags else ''}"


def describe_nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
