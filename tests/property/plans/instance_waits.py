"""What the instances of an expansion wait for, found by walking from one to the next: slow and simple."""

from precast.plans.model import Expansion

Key = tuple[str, str]


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
