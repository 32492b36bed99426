"""What a rebase changes, for people: in the plan as `precast plan diff` shows it, and in what tasks do on nodes."""

from collections.abc import Iterator

import msgspec

from precast.cli.plans.diff import describe_comparison
from precast.plans.comparison import PlanComparison
from precast.plans.views.descriptions import list_names
from precast.wire.plans.bodies import RebaseChange, ResumeView


def describe_rebase(view: ResumeView) -> Iterator[str]:
    """The lines that say what differs; one line if nothing does."""
    found = msgspec.convert(view.comparison, PlanComparison) if view.comparison is not None else None
    if found is not None and not found.is_equal:
        yield from describe_comparison(found)
    if view.changes:
        yield "what tasks do on nodes:"
        yield from map(_describe_change, view.changes)
    elif found is None or found.is_equal:
        yield "the rebase changes no task"


def _describe_change(change: RebaseChange) -> str:
    if change.change == "catalog":
        return f"    changed {change.task} on {list_names(change.nodes)}: another version of its catalog"
    return f"    {change.change} {change.task} on {list_names(change.nodes)}"
