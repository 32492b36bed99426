"""Fuel's task graphs over nodes of a deployment: as they are written, and with their work replaced so that nothing is needed to run them.

The corpus is read from the directory that PRECAST_CORPORA names. Each of its graphs is a plan; Fuel merges them by id, so they also load as
layers of one plan.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped] # it has no types of its own

from lab import fleet
from precast.plans.loading.documents import PlanText
from precast.plans.model import PlanNode

# Fuel's graphs in the order in which the layers of a cluster override each other.
GRAPHS = ("deployment", "graphs/provision", "graphs/net-verification", "graphs/deletion")
DEPLOYMENT = GRAPHS[0]
_TAGS = ("database", "keystone", "neutron", "rabbitmq")
_COMMANDS = ("shell", "master_shell", "upload_file", "copy_files", "sync", "reboot")


class DeployedNode(NamedTuple):
    """The roles and tags of a node in a deployment."""

    roles: Sequence[str]
    tags: Sequence[str] = ()


_FIRST = DeployedNode(["primary-controller"], [f"primary-{tag}" for tag in _TAGS])
_CONTROLLER = DeployedNode(["controller"], _TAGS)
_SMALL = (
    _FIRST,
    _CONTROLLER,
    DeployedNode(["compute"]),
    DeployedNode(["cinder", "ceph-osd"]),
    DeployedNode(["primary-mongo"]),
)
# Of the nodes that a large deployment has besides: most are compute nodes.
_MORE = (
    *[DeployedNode(["compute"])] * 7,
    DeployedNode(["ceph-osd"]),
    DeployedNode(["ceph-osd"]),
    DeployedNode(["cinder"]),
)


def find_corpus() -> Path | None:
    """The directory with Fuel's task files, if there is one."""
    directory = Path(os.environ.get("PRECAST_CORPORA", "/nonexistent")) / "fuel"
    return directory if directory.is_dir() else None


def describe_deployment(count: int) -> list[DeployedNode]:
    """So many nodes besides the master: three controllers if there are at least eight nodes."""
    small = [*_SMALL, _CONTROLLER] if count >= 8 else [*_SMALL]
    return [*small, *(_MORE[number % len(_MORE)] for number in range(count - len(small)))][:count]


def make_nodes(count: int) -> list[PlanNode]:
    """A master and so many other nodes."""
    master, *names = fleet.names(count + 1)
    deployed = zip(names, describe_deployment(count), strict=True)
    return [
        PlanNode(master, is_master=True),
        *(PlanNode(name, tuple(node.roles), tuple(node.tags)) for name, node in deployed),
    ]


def list_files(corpus: Path, graph: str) -> list[Path]:
    return sorted((corpus / graph).rglob("*.yaml"))


def read_graph(corpus: Path, graph: str, layer: int = 0) -> list[PlanText]:
    """The files of a graph."""
    return [PlanText(str(path.relative_to(corpus)), path.read_text(), layer) for path in list_files(corpus, graph)]


def replace_work(corpus: Path) -> str:
    """The deployment graph with its tasks, tests, groups, roles and order, and other work, as a text of YAML.

    A Puppet manifest becomes a part of the node's released catalog: it is ordered in the same way, and nothing has to be compiled. Other
    work becomes a command. Conditions and computed dependencies are left out: they read data of a Fuel cluster.
    """
    raw = [yaml.safe_load(path.read_text()) for path in list_files(corpus, DEPLOYMENT)]
    return json.dumps([_replace(task) for tasks in raw for task in tasks or ()])


def _replace(task: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        name: _leave_out_computed(value) for name, value in task.items() if name not in ("condition", "parameters")
    }
    parameters = dict(task.get("parameters") or {})
    kept = {name: parameters[name] for name in ("strategy", "timeout") if name in parameters}
    if task["type"] == "puppet":
        return {**fields, "type": "catalog", "parameters": {**kept, "tags": [task["id"].replace("-", "_")]}}
    if task["type"] in _COMMANDS:
        return {**fields, "type": "shell", "parameters": {**kept, "cmd": "true"}}
    return {**fields, "parameters": parameters}


def _leave_out_computed(value: Any) -> Any:
    if isinstance(value, list):
        return [item for item in value if not _is_computed(item)]
    return [] if _is_computed(value) else value


def _is_computed(value: object) -> bool:
    return isinstance(value, dict) and any(name == "yaql_exp" or _is_computed(item) for name, item in value.items())
