"""Compiles small manifests for a test node; the tests of the compiler share these functions."""

import json
from typing import Any

import msgspec

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, CompileResult, Evaluation, compile_catalog, evaluate
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

FACTS: dict[str, Any] = {
    "fqdn": "web1.example.com",
    "hostname": "web1",
    "kernel": "Linux",
    "networking": {"fqdn": "web1.example.com", "hostname": "web1", "ip": "192.0.2.7", "mtu": 1500},
    "os": {"family": "Debian", "name": "Debian", "release": {"major": "12"}},
    "processors": {"count": 4},
}


def inputs(
    files: dict[str, str] | None = None, facts: dict[str, Any] | None = None, node: str = "web1.example.com"
) -> Inputs:
    return Inputs(
        NodeAnswers(NodeData.local(node, FACTS if facts is None else facts), FileStore(TextTree(files or {})))
    )


def compiled(code: str, files: dict[str, str] | None = None, **others: Any) -> CompileResult:
    settings = others.pop("settings", Settings())
    return compile_catalog(inputs(files, **others), settings, Source("site.pp", code))


def evaluated(code: str, files: dict[str, str] | None = None, **others: Any) -> Evaluation:
    settings = others.pop("settings", Settings())
    return evaluate(Source("code.pp", code), inputs(files, **others), settings)


def failure(code: str, files: dict[str, str] | None = None, **others: Any) -> CompileFailure:
    """The failure of a compile that must fail."""
    try:
        compiled(code, files, **others)
    except CompileFailure as failed:
        return failed
    raise AssertionError(f"compiled: {code}")


def parameters(result: CompileResult, ref: str) -> dict[str, Any]:
    return next(resource.parameters for resource in result.body.resources if resource.ref == ref)


def asked(result: CompileResult) -> list[dict[str, Any]]:
    """The questions in the trace, as data."""
    return [json.loads(msgspec.json.encode(read.question)) for read in result.trace]
