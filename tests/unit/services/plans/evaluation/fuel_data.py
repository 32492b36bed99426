"""Data of a deployment as the expressions of Fuel's task files read it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml  # type: ignore[import-untyped]


class FuelExpression(NamedTuple):
    """An expression of a task file; `is_condition` tells what it is for."""

    task: str
    text: str
    is_condition: bool


def read_expressions() -> list[FuelExpression]:
    """Every expression of the corpus, once for each task; the test is skipped without it."""
    corpora = os.environ.get("PRECAST_CORPORA")
    if not corpora:
        pytest.skip("PRECAST_CORPORA names no directory with Fuel's task files")
    found: dict[FuelExpression, None] = {}
    for path in sorted(Path(corpora, "fuel").rglob("*.yaml")):
        tasks = yaml.safe_load(path.read_text())
        for task in tasks if isinstance(tasks, list) else []:
            for key, value in task.items():
                for text in _find(value):
                    found[FuelExpression(task["id"], text, key == "condition")] = None
    return list(found)


def _find(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and set(value) == {"yaql_exp"}:
        yield value["yaql_exp"].strip()
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _find(item)


def make_common(expressions: list[FuelExpression], count: int = 5) -> dict[str, Any]:
    """What the nodes have in common: a section for each key that an expression reads, and a network of nodes."""
    keys = {key for expression in expressions for key in re.findall(r"\$\.(\w+)\b(?!\()", expression.text)}
    nodes = {f"node-{number}": _describe(number) for number in range(1, count + 1)}
    sections = {key: {"enabled": True, "value": key} for key in sorted(keys)}
    return {
        **{key: section for key, section in sections.items() if key not in make_node(1)},
        "access": {"user": "admin"},
        "configuration": {"mysql": {}, "rabbitmq": {}},
        "debug": False,
        "deployed_before": {"value": False},
        "murano-cfapi": {"enabled": True},
        "murano_settings": {"murano_glance_artifacts_plugin": {}},
        "mu_upgrade": {"enabled": True, "repos": []},
        "network_metadata": {
            "nodes": nodes,
            "vips": {"vrouter": {"ipaddr": "10.1.1.1", "node_roles": ["controller", "primary-controller"]}},
        },
        "neutron_advanced_configuration": {"neutron_l3_ha": False, "neutron_dvr": False, "neutron_qos": False},
        "nodes": list(nodes.values()),
        "plugins": [{"name": "p"}],
        "public_ssl": {
            "horizon": True,
            "services": False,
            "hostname": "public",
            "cert_source": "self_signed",
            "cert_data": {"content": "x"},
        },
        "quantum_settings": {"keystone": {}, "L2": {}, "L3": {}, "default_private_net": "n", "predefined_networks": {}},
        "repo_setup": {"repos": []},
        "storage": {f"{name}_ceph": False for name in ("objects", "images", "volumes", "ephemeral")},
        "use_ssl": {},
    }


def _describe(number: int) -> dict[str, Any]:
    roles = {1: ["primary-controller", "controller"], 2: ["controller"]}.get(number, ["compute"])
    networks = ("mgmt/messaging", "mgmt/database", "cinder/iscsi")
    return {
        "uid": str(number),
        "name": f"node-{number}",
        "fqdn": f"node-{number}.test",
        "node_roles": roles,
        "network_roles": dict.fromkeys(networks, f"10.0.0.{number}"),
    }


def make_node(number: int) -> dict[str, Any]:
    """The data of one node."""
    return {
        "uid": str(number),
        "fqdn": f"node-{number}.test",
        "roles": _describe(number)["node_roles"],
        "network_scheme": {
            "endpoints": {"br-ex": {"IP": [f"10.0.0.{number}/24"], "gateway": "10.0.0.254"}},
            "transformations": [{"action": "add-br"}],
            "interfaces": {},
        },
        "node_volumes": [{"id": "sda"}],
        "provision": {"packages": "a\nb", "name": f"node-{number}"},
    }
