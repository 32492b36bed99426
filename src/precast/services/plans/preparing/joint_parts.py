"""What the catalogs of a run of a plan look like to the check of waits: each task that applies one is a part, in the order of the plan.

Tasks that apply nothing are parts without resources: the order goes through them. A node does one task at a time, and a task that waits
for a value keeps its node, so the tasks of a node follow each other in the order of the expansion. Where one of several tasks is enough,
the check waits for none of them: it finds nodes that wait in every run.
"""

from collections.abc import Mapping, Sequence

from precast.plans.model import SYNC_NODE, Expansion, InstanceKey
from precast.services.futures.checking.joint_checks import PlannedPart
from precast.services.futures.checking.messages import CheckedPart
from precast.services.plans.pinned import SkippedTask
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs.programs import CatalogWork, ManifestWork, parse_program

# The documents of catalogs by node and entry point, that of the released catalog by ""; only of those that promise or need something.
Documents = Mapping[tuple[str, str], str]


def list_applied(
    programs: Sequence[ProgramRow], skipped: Sequence[SkippedTask]
) -> dict[InstanceKey, CatalogWork | ManifestWork]:
    """What the programs of a run apply, by task and node, without what is left out."""
    left_out = {InstanceKey(row.task, node) for row in skipped for node in row.nodes}
    works: dict[InstanceKey, CatalogWork | ManifestWork] = {}
    for row in programs:
        work = parse_program(row.program).work
        if isinstance(work, CatalogWork | ManifestWork):
            works |= {key: work for node in row.nodes if (key := InstanceKey(row.task, node)) not in left_out}
    return works


def list_parts(
    expansion: Expansion, works: Mapping[InstanceKey, CatalogWork | ManifestWork], documents: Documents
) -> list[PlannedPart]:
    """The parts of a run. `works` has what is applied, without tasks that are left out."""
    names = [_name(expansion, instance.key) for instance in expansion.instances]
    parts = [
        PlannedPart(CheckedPart(_joint_name(number), after=[names[member] for member in members]), "")
        for number, members in enumerate(expansion.joints)
    ]
    last: dict[str, str] = {}
    for name, instance in zip(names, expansion.instances, strict=True):
        node = instance.key.node
        after = [names[needed] for needed in instance.needs] + [_joint_name(joint) for joint in instance.joins]
        if node != SYNC_NODE:
            after += [last[node]] if node in last else []
            last[node] = name
        parts.append(_make_part(name, node, list(dict.fromkeys(after)), works.get(instance.key), documents))
    return parts


def _make_part(
    name: str, node: str, after: Sequence[str], work: CatalogWork | ManifestWork | None, documents: Documents
) -> PlannedPart:
    document = ""
    if work is not None and work.mode == "enforce":
        document = documents.get((node, work.entry if isinstance(work, ManifestWork) else ""), "")
    if isinstance(work, CatalogWork):
        selected = CheckedPart(name, after=list(after), tags=work.tags, classes=work.classes, stages=work.stages)
        return PlannedPart(selected, document)
    return PlannedPart(CheckedPart(name, after=list(after)), document)


def _name(expansion: Expansion, key: InstanceKey) -> str:
    task = expansion.plan.tasks[key.task - 1].id
    return f"stage {task}" if key.node == SYNC_NODE else f"{task} on {key.node}"


def _joint_name(number: int) -> str:
    return f"joint {number}"
