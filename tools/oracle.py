"""Asks Precast what real Puppet was asked: rows of code as JSON lines in, what Precast says of each out.

usage: python tools/oracle.py expr|manifest [--strict] < rows.jsonl > answers.jsonl

The answers have the fields that rows of truth have, so that the two can be compared. Of a row only `id`, `source`, `files`,
`facts`, `node` and `modulepath` are read: an answer is built from nothing but these, never from what the row expects. All rows are
answered in one process. Holes are filled from the row's facts, as they would be when a catalog is served. An error is answered
with its code and message; `crash` is a fault of ours. `--strict`, or STRICT8 in the environment, asks as Puppet 8 would.
"""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.catalog import unknown as catalog_unknown
from precast.catalog.body import Body
from precast.catalog.order import RELATIONS
from precast.lang.compile import CompileFailure, compile_catalog, evaluate
from precast.lang.datatypes import infer
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.functions.fqdn_rand import fqdn_rand
from precast.lang.inputs import ABSENT, Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import LogLine, Settings
from precast.lang.values import base as values
from precast.lang.values import unknowns
from precast.types.ordering import application_order

FIELDS: Final = ("id", "source", "files", "facts", "node", "modulepath")
NODE: Final = "testhost.example.com"
FACTS: Final[dict[str, Any]] = {
    "os": {
        "name": "Debian",
        "family": "Debian",
        "release": {"major": "12", "minor": "5", "full": "12.5"},
        "architecture": "amd64",
    },
    "kernel": "Linux",
    "osfamily": "Debian",
    "operatingsystem": "Debian",
    "hostname": "testhost",
    "fqdn": NODE,
    "domain": "example.com",
    "networking": {
        "ip": "192.0.2.10",
        "hostname": "testhost",
        "fqdn": NODE,
        "interfaces": {"eth0": {"ip": "192.0.2.10", "mac": "02:00:00:00:00:01"}},
    },
    "processors": {"count": 4},
    "memory": {"system": {"total_bytes": 8589934592}},
    "is_virtual": True,
    "ipaddress": "192.0.2.10",
}
CONSTANTS: Final[dict[str, Any]] = {
    "server_facts": {"serverversion": "7.23.0", "servername": "server.example.com", "serverip": "192.0.2.1"},
    "environment_path": "/environments/production",
    "deployed_at": 1_700_000_000,
}
# A row's file of this name is the hiera.yaml of the global layer.
GLOBAL_HIERA: Final = "/global/hiera.yaml"
LOGGED: Final = ("notice", "warning", "err", "alert", "emerg", "crit")
# What every catalog has, and the rows leave out.
SKIPPED: Final = ("Stage[main]", "Class[Settings]")
NOT_APPLIED: Final = ("Schedule[", "Filebucket[", "Stage[")


class RowTree(TextTree):
    """A row's own files, and the modules of its `modulepath` on disk."""

    def __init__(self, files: Mapping[str, str], module_path: tuple[str, ...]) -> None:
        super().__init__(files)
        self._module_path = module_path

    def _on_disk(self, path: str) -> Path | None:
        return Path(path) if path.startswith(self._module_path) and self._module_path else None

    def read(self, path: str) -> bytes | None:
        place = self._on_disk(path)
        if place is None:
            return super().read(path)
        return place.read_bytes() if place.is_file() else None

    def names(self, path: str) -> tuple[str, ...] | None:
        place = self._on_disk(path)
        if place is None:
            return super().names(path)
        if not place.is_dir():
            return None
        return tuple(sorted(each.name + ("/" if each.is_dir() else "") for each in place.iterdir()))


class Asked:
    """A row as far as it may be read, ready to be evaluated."""

    def __init__(self, row: Mapping[str, Any], is_strict: bool) -> None:
        module_path = tuple(row.get("modulepath") or ())
        self.source: Source | None = Source("", row["source"])
        node = NodeData.local(row.get("node") or NODE, {**FACTS, **(row.get("facts") or {})}, has_exact_facts=True)
        files = FileStore(RowTree(row.get("files") or {}, module_path))
        own = {"hiera_config": GLOBAL_HIERA} if GLOBAL_HIERA in (row.get("files") or {}) else {}
        self.answers = NodeAnswers(node, files, constants={**CONSTANTS, **own}, keyed={"fqdn_rand": _fqdn_rand})
        self.inputs = Inputs(self.answers)
        modules = ("modules", *module_path)
        self.settings = Settings.puppet8(module_path=modules) if is_strict else Settings(module_path=modules)

    def find(self, root: str, path: tuple[str | int, ...]) -> Any:
        return self.answers.node.find(root, path)

    def filled(self, value: Any) -> Any:
        """A value without holes."""
        return unknowns.replace(
            value, lambda each: self.find(each.root, each.path) if isinstance(each, unknowns.Hole) else each
        )

    def logs(self, lines: Iterable[LogLine]) -> dict[str, Any]:
        said = [[line.level, _shown(self.filled(line.message))] for line in lines if line.level in LOGGED]
        return {"logs": said} if said else {}


def _shown(message: Any) -> str:
    """A line of the log, with the environment's directory as the rows have it."""
    return values.to_string(message).replace(CONSTANTS["environment_path"], "ENV")


def _fqdn_rand(answers: NodeAnswers, arguments: tuple[Any, ...]) -> Any:
    name = answers.facts.find(("networking", "fqdn"))
    return fqdn_rand("" if name is ABSENT else name, *arguments)


# Answers


def answer_expression(asked: Asked) -> dict[str, Any]:
    assert asked.source is not None
    result = evaluate(asked.source, asked.inputs, asked.settings)
    value = asked.filled(result.value)
    answer: dict[str, Any] = {"expect": values.rich(value)}
    if not isinstance(value, str):
        answer["string"] = _text(value)
    answer["ptype"] = str(infer(value))
    return {**answer, **asked.logs(result.logs)}


def _text(value: Any) -> str | None:
    try:
        return values.to_string(value)
    except PrecastError:
        return None


def answer_manifest(asked: Asked) -> dict[str, Any]:
    result = compile_catalog(asked.inputs, asked.settings, asked.source)
    body = result.body
    answer: dict[str, Any] = {
        "resources": [_resource(asked, body, at) for at, each in enumerate(body.resources) if each.ref not in SKIPPED],
        "edges": [[edge.source, edge.target] for edge in body.edges if edge.target not in SKIPPED],
        "classes": list(body.classes),
        "relationships": sorted(_relationships(body)),
    }
    order, stuck = application_order(body, result.types)
    if stuck:
        answer["cycle"] = True
    else:
        answer["order"] = [ref for ref in order if not ref.startswith(NOT_APPLIED)]
    return {**answer, **asked.logs(result.logs)}


def _resource(asked: Asked, body: Body, at: int) -> dict[str, Any]:
    resource = body.resources[at]
    shown: dict[str, Any] = {
        "type": resource.type,
        "title": resource.title,
        "parameters": catalog_unknown.fill(resource.parameters, asked.find),
        "exported": resource.exported,
        "tags": sorted(resource.tags),
    }
    if resource.sensitive_parameters:
        shown["sensitive_parameters"] = list(resource.sensitive_parameters)
    return shown


def _relationships(body: Body) -> Iterable[list[str]]:
    for resource in body.resources:
        for name, backwards in RELATIONS.items():
            given = resource.parameters.get(name)
            if given is None:
                continue
            kind = "before" if name in ("before", "require") else "notify"
            for target in given if isinstance(given, list | tuple) else (given,):
                yield [target, resource.ref, kind] if backwards else [resource.ref, target, kind]


ANSWERS: Final = {"expr": answer_expression, "manifest": answer_manifest}


def answer(mode: str, row: Mapping[str, Any], is_strict: bool = False) -> dict[str, Any]:
    """What Precast says of a row. Never raises: a fault of ours is the answer `crash`."""
    asked = Asked({name: row[name] for name in FIELDS if name in row}, is_strict)
    try:
        said = ANSWERS[mode](asked)
    except CompileFailure as failure:
        said = {**_error(failure.error), **asked.logs(failure.logs)}
    except PrecastError as error:
        said = _error(error)
    except Exception as error:  # noqa: BLE001 - the boundary: one row must not end the others
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = {"crash": f"{type(error).__name__}: {error} at {Path(place.filename).name}:{place.lineno}"[:500]}
    return {"id": row["id"], **said}


def _error(error: PrecastError) -> dict[str, Any]:
    return {"error": True, "code": error.code, "message": error.message}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="oracle.py", description="Answer rows of code as real Puppet was asked to.")
    parser.add_argument("mode", choices=sorted(ANSWERS))
    parser.add_argument("--strict", action="store_true", help="as Puppet 8: errors where Puppet 7 warns")
    args = parser.parse_args(argv)
    is_strict = args.strict or bool(os.environ.get("STRICT8"))
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(args.mode, json.loads(line), is_strict)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
