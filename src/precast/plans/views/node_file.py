"""Reads the nodes for commands that look at a plan without a server: a YAML list of names with roles, tags and data.

    - name: web1
      roles: [web]
      data: {release: 4}
    - name: boss
      is_master: true

It is read by the means that read plans, so that every mistake has its place.
"""

from typing import Any, NamedTuple

from precast.plans import issues
from precast.plans.expanding.problems import place_of
from precast.plans.loading.documents import DocumentRefused, PlanText, ValueBudget, read_document
from precast.plans.loading.fields import Field
from precast.plans.loading.problems import Problems
from precast.plans.loading.shapes import flag, mapping, text, words
from precast.plans.model import PlanNode, PlanProblem, Position

_NAME = text("the name of a node", 200)
_WORDS, _FLAG, _MAPPING = words(), flag(), mapping()
_KEYS = ("name", "roles", "tags", "is_master", "data")


class NodeList(NamedTuple):
    """The nodes, and the data of those that have some."""

    nodes: list[PlanNode]
    data: dict[str, dict[str, Any]]
    errors: list[PlanProblem]
    warnings: list[PlanProblem]


def read_nodes(file: PlanText) -> NodeList:
    """The nodes of a file; what has an error is left out."""
    problems = Problems()
    found = NodeList([], {}, problems.errors, problems.warnings)
    try:
        root = read_document(file, ValueBudget(), problems)
    except DocumentRefused as refused:
        problems.add(refused.problem)
        return found
    if root is None or root.items is None:
        at = Position(file.path, 1, 1) if root is None else root.at
        problems.error(issues.WRONG_VALUE, at, **_describe_wanted("nothing" if root is None else root.describe()))
        return found
    places: dict[str, Position] = {}
    for item in Field(root, "the list of nodes", problems).items():
        _read_node(item, found, places)
    return found


def _describe_wanted(given: str) -> dict[str, str]:
    return {
        "what": "the file",
        "wanted": "a list of nodes",
        "found": given,
        "advice": "begin each node with a dash: `- name: web1`, and its roles below it",
    }


def _read_node(item: Field, found: NodeList, places: dict[str, Position]) -> None:
    if not item.require_mapping("a node", "write `- name: NAME`, and its roles below it"):
        return
    item.warn_unknown(_KEYS)
    if (field := item.get("name")) is None:
        item.error(issues.MISSING_FIELD, what=item.label, field="name", advice="give the node a name")
        return
    name: str | None = _NAME.read(field)
    if name is None:
        return
    if name in places:
        item.error(issues.NODE_TWICE, name=name, before=place_of(places[name]))
        return
    places[name] = item.at
    node = item._replace(label=f"node {name}")
    roles, tags, master, data = (node.get(key) for key in ("roles", "tags", "is_master", "data"))
    found.nodes.append(
        PlanNode(
            name,
            () if roles is None else tuple(_WORDS.read(roles)),
            () if tags is None else tuple(_WORDS.read(tags)),
            master is not None and bool(_FLAG.read(master)),
        )
    )
    if data is not None and (values := _MAPPING.read(data)) is not None:
        found.data[name] = values
