"""Random plans of a few tasks, and what their instances wait for by walking from one to the next."""

from hypothesis import strategies as st

from precast.plans.model import CrossDependency, Expansion, Plan, PlanNode, PlanTask, Position

NODES = [PlanNode("n1", ("x",)), PlanNode("n2", ("x", "y")), PlanNode("n3", ("y",))]
NAMES = "abcdef"
Key = tuple[str, str]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    tasks = []
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=2)):
        others = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
        role = st.sampled_from([("self",), ("x",), ("y",), ("*",)])
        crosses = draw(
            st.lists(
                st.builds(CrossDependency, st.sampled_from(NAMES), role, st.sampled_from(["all", "any"])), max_size=2
            )
        )
        tasks.append(
            PlanTask(
                name,
                draw(st.sampled_from(["shell", "shell", "stage"])),
                Position("p.yaml", 1, 1),
                selectors=draw(st.sampled_from([("x",), ("y",), ("*",)])),
                requires=tuple(draw(others)),
                cross_depends=tuple(crosses),
                has_canary=draw(st.booleans()),
                at_once=draw(st.sampled_from([None, None, 1, 2])),
            )
        )
    return Plan("p", tuple(tasks))


def walk(expansion: Expansion) -> dict[Key, set[Key]]:
    """By instance, those that it waits for, directly or through others."""
    keys = [(expansion.plan.tasks[instance.key.task - 1].id, instance.key.node) for instance in expansion.instances]
    found: dict[Key, set[Key]] = {}
    for index, instance in enumerate(expansion.instances):
        direct = {*instance.needs, *(member for joint in instance.joins for member in expansion.joints[joint])}
        direct |= {member for members in instance.needs_any for member in members}
        canary = expansion.canaries.get(instance.key.task)
        if canary not in (None, instance.key.node):
            direct.add(keys.index((keys[index][0], canary or "")))
        found[keys[index]] = {keys[number] for number in direct}.union(*(found[keys[number]] for number in direct))
    return found
