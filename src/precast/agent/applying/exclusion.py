"""What a run leaves out: by tags, and by schedule. It is neither checked nor in anybody's way."""

from precast.agent.applying.memory import Memory
from precast.agent.applying.options import Options
from precast.agent.applying.planning import Planned
from precast.base.clock import Clock


class Exclusion:
    """Says why a resource is left out. The hour is that of the start, so that a run does not change its mind."""

    def __init__(self, options: Options, memory: Memory, clock: Clock) -> None:
        self._options = options
        self._memory = memory
        self._now = clock.now().astimezone()

    def reason(self, planned: Planned) -> str | None:
        """Why it is left out; None if it is not."""
        options = self._options
        tags = planned.data.tags
        if options.tags and options.tags.isdisjoint(tags):
            return "its tags are not among those asked for"
        if options.skip_tags and not options.skip_tags.isdisjoint(tags):
            return "it has a tag that is to be skipped"
        if planned.schedule is None or options.ignores_schedules:
            return None
        last = self._memory.applied_at(planned.ref)
        if planned.schedule.allows(self._now, last.astimezone() if last is not None else None):
            return None
        return f"its schedule {planned.data.parameters['schedule']} does not allow it now"
