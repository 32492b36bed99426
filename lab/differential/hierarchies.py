"""Hiera for a generated environment: a hierarchy of at least three layers, and values distributed over it.

A value is in the common layer and may be repeated nearer to the node. Hashes are merged deeply if `lookup_options` says so, arrays
of names are made unique, and some strings contain interpolations.
"""

import json
import random
from typing import Any

import yaml  # type: ignore[import-untyped]

from lab.differential.fact_sets import FactSet

Files = dict[str, str]
NODE = "nodes/%{trusted.certname}"
PATHS = {"node": NODE, "name": "os/%{facts.os.name}", "family": "family/%{facts.os.family}", "common": "common"}


def hierarchy(chance: random.Random, with_json: bool) -> str:
    """A hiera.yaml in one of several equivalent notations."""
    style = chance.randrange(3)
    if style == 0:
        layers: list[dict[str, Any]] = [{"name": name, "path": f"{path}.yaml"} for name, path in PATHS.items()]
    elif style == 1:
        layers = [{"name": "all", "paths": [f"{path}.yaml" for path in PATHS.values()]}]
    else:
        layers = [
            {"name": "node", "path": f"{NODE}.yaml"},
            {"name": "interfaces", "mapped_paths": ["facts.nameservers", "ns", "ns/%{ns}.yaml"]},
            {"name": "system", "paths": ["os/%{facts.os.name}.yaml", "family/%{osfamily}.yaml"]},
            {"name": "common", "globs": ["common*.yaml"]},
        ]
    if with_json:
        layers.append({"name": "last", "path": "last.json", "data_hash": "json_data"})
    defaults = {"datadir": "data", "data_hash": "yaml_data"}
    return str(yaml.safe_dump({"version": 5, "defaults": defaults, "hierarchy": layers}, sort_keys=False))


def spread(chance: random.Random, values: dict[str, Any], sets: list[FactSet], options: dict[str, Any]) -> Files:
    """Data files with the values; a value nearer to a node is a variation of the same kind."""
    common: dict[str, Any] = {"lookup_options": options} | values
    files: dict[str, dict[str, Any]] = {"common": common}
    paths = [
        *(f"family/{family}" for family in ("Debian", "RedHat")),
        *(f"os/{name}" for name in ("Ubuntu", "CentOS")),
    ]
    paths += [f"nodes/{fact_set.certname}" for fact_set in sets if chance.random() < 0.6]
    for path in paths:
        overriding = {
            key: variation
            for key, value in values.items()
            if chance.random() < 0.15 and (variation := varied(chance, value)) != value
        }
        if overriding:
            files[path] = overriding
    moved = {key: common.pop(key) for key in list(values) if chance.random() < 0.1}
    documents = {f"data/{path}.yaml": _document(chance, data) for path, data in files.items()}
    return documents | {"data/last.json": json.dumps(moved, indent=2)}


def _document(chance: random.Random, data: dict[str, Any]) -> str:
    flow = chance.choice((None, False))
    return "---\n" + str(yaml.safe_dump(data, sort_keys=False, default_flow_style=flow, width=100))


def varied(chance: random.Random, value: Any, is_whole: bool = True) -> Any:
    """Another value for the same key; only a top-level hash may lose entries, nested ones stay complete."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value > 1024:
        return value + chance.randrange(3)
    if isinstance(value, list):
        return value[:1] + [item for item in value[1:] if chance.random() < 0.5]
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if not is_whole or chance.random() < 0.7}
        return {key: varied(chance, item, is_whole=False) for key, item in kept.items()}
    return value
