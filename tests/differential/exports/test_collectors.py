"""What a node collects from others: the catalogs are those of real Puppet with the terminus of PuppetDB."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from lab.differential.comparison import Answer, differences
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.catalog import unknown
from precast.catalog.body import Body, decode
from precast.catalog.exports import ExportedResource, exports_of
from precast.lang.compile import CompileFailure, compile_catalog
from precast.lang.exports import KnownExports
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

Case = dict[str, Any]


def read_cases() -> list[Case]:
    document = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
    both = dict.fromkeys(("b.example", "c.example"), document["note"])
    return [{"id": name, "node": "a.example", "exporters": both, **case} for name, case in document["cases"].items()]


CASES = read_cases()
DRIVER = Path(__file__).with_name("puppet_exports.rb")
# They follow from the parameters, which are compared.
NOT_COMPARED: Answer = {"relationships": [], "order_error": "not asked for"}
SKIPPED = ("Stage[main]", "Class[Settings]")


@pytest.fixture(scope="module")
def puppets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    if shutil.which("puppet") is None:
        pytest.skip("needs real Puppet (Debian: puppet-agent)")
    lines = "".join(json.dumps(case) + "\n" for case in CASES)
    place = tmp_path_factory.mktemp("puppet")
    done = subprocess.run(["ruby", str(DRIVER)], cwd=place, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {answer["id"]: answer for answer in answers}


def compile_body(node: str, code: str, exports: list[ExportedResource]) -> Body:
    """A catalog with the node's own values."""
    data = NodeData.local(node, {"fqdn": node})
    answers = NodeAnswers(data, FileStore(TextTree({})), exports=KnownExports(exports))
    result = compile_catalog(Inputs(answers), Settings(storeconfigs=True), Source("site.pp", code))
    return decode(json.dumps(unknown.fill(json.loads(result.body.encoded()), data.find)).encode())


def our_answer(case: Case) -> Answer:
    try:
        exports = [
            export
            for node, code in case["exporters"].items()
            for export in exports_of(node, compile_body(node, code, []))
        ]
        body = compile_body(case["node"], case["code"], exports)
    except CompileFailure as failure:
        return {"error": True, "message": failure.error.message}
    except PrecastError as error:
        return {"error": True, "message": error.message}
    return {
        "resources": [
            {
                "type": resource.type,
                "title": resource.title,
                "parameters": resource.parameters,
                "tags": list(resource.tags),
                "exported": resource.exported,
            }
            for resource in body.resources
            if resource.ref not in SKIPPED
        ],
        "edges": [[edge.source, edge.target] for edge in body.edges if edge.target not in SKIPPED],
        "classes": list(body.classes),
    }


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_collected_catalog_equals_puppets(case: Case, puppets: dict[str, Answer]) -> None:
    theirs, ours = puppets[case["id"]], our_answer(case)
    assert bool(theirs.get("error")) == bool(ours.get("error")), (theirs, ours)
    if "error" not in ours:
        assert list(differences(theirs | NOT_COMPARED, ours | NOT_COMPARED)) == []


def test_duplicate_names_both_nodes(puppets: dict[str, Answer]) -> None:
    (case,) = (case for case in CASES if case["id"] == "duplicate-of-two-nodes")
    message = our_answer(case)["message"]
    said = "A duplicate resource was found while collecting exported resources, with the type and title Notify[x]"
    assert said in puppets[case["id"]]["message"]
    assert said in message
    assert "b.example exports it and c.example exports it" in message
