"""The services of plans, as the API uses them."""

from typing import NamedTuple

from precast.services.plans.changes import PlanChangesService
from precast.services.plans.preparing.sources import PlanSources
from precast.services.plans.reading import PlanReading
from precast.services.plans.rebasing import PlanRebasing
from precast.services.plans.replays import TaskReplays
from precast.services.plans.runs import PlanStarter


class PlanServices(NamedTuple):
    """What can be done with plans and their runs."""

    sources: PlanSources
    starter: PlanStarter
    reading: PlanReading
    changes: PlanChangesService
    rebasing: PlanRebasing
    replays: TaskReplays
