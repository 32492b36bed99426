"""Decides which resources a run skips: by tags, and by schedule. A skipped resource is not checked and does not hold up its dependents."""

from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import PlannedResource
from precast.agent.applying.resource_memory import ResourceMemory
from precast.base.clock import Clock


class ResourceFilter:
    """Decides by the time at which the run started, so that the decisions of one run agree."""

    def __init__(self, options: RunOptions, memory: ResourceMemory, clock: Clock) -> None:
        self._options = options
        self._memory = memory
        self._now = clock.now().astimezone()

    def skip_reason(self, planned: PlannedResource) -> str | None:
        """Why a resource is skipped; None if it is to be applied."""
        options = self._options
        tags = planned.data.tags
        if options.tags and options.tags.isdisjoint(tags):
            return "it has none of the tags of this run"
        if options.skip_tags and not options.skip_tags.isdisjoint(tags):
            return "it has a tag that this run skips"
        if planned.schedule is None or options.ignores_schedules:
            return None
        last = self._memory.applied_at(planned.ref)
        if planned.schedule.allows(self._now, last.astimezone() if last is not None else None):
            return None
        return f"its schedule {planned.data.parameters['schedule']} does not allow it now"
