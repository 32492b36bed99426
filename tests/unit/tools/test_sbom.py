"""The bills of materials: complete, valid by the fields that CycloneDX requires, and the same bytes each time."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.audit_dependencies import Audit, Unchecked, audit
from tools.locked import INSTALLS, LockedPackage, read_lock, requirements, select
from tools.sbom import make_document

PACKAGES = read_lock()


@pytest.fixture(params=INSTALLS)
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    return make_document(request.param, PACKAGES)


def test_every_line_of_the_lock_is_read() -> None:
    text = (Path(__file__).resolve().parents[3] / "requirements.lock").read_text()
    assert len(PACKAGES) == len(re.findall(r"^[a-z0-9].*==", text, re.MULTILINE))
    assert sum(len(package.hashes) for package in PACKAGES.values()) == text.count("--hash=sha256:")
    assert all(package.hashes and package.needed_by for package in PACKAGES.values())


def test_installs_have_what_they_require_and_no_tool_of_development() -> None:
    agent, server = (set(select(install, PACKAGES)) for install in INSTALLS)
    assert {"cryptography", "cffi", "pycparser", "msgspec", "pyyaml", "websockets"} == agent
    assert agent < server
    assert {"aiohttp", "asyncpg", "yarl", "multidict", "uvloop"} <= server
    assert not server & {"pytest", "mypy", "hypothesis", "ruff"}
    for install in (agent, server):
        assert {needed for name in install for needed in requirements(name, PACKAGES)} <= install


def test_document_has_the_fields_that_cyclonedx_requires(document: dict[str, Any]) -> None:
    assert document["bomFormat"] == "CycloneDX"
    assert document["specVersion"] == "1.6"
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    assert document["version"] == 1
    components = document["components"]
    for component in (document["metadata"]["component"], *components):
        assert component["type"] in ("application", "library")
        assert component["name"]
        assert component["purl"] == component["bom-ref"] == f"pkg:pypi/{component['name']}@{component['version']}"
        for licence in component.get("licenses", []):
            assert set(licence) == {"expression"} or set(licence["license"]) == {"name"}
    for component in components:
        (archives,) = component["externalReferences"]
        assert archives["type"] == "distribution"
        for value in archives["hashes"]:
            assert value["alg"] == "SHA-256"
            assert re.fullmatch("[0-9a-f]{64}", value["content"])


def test_dependencies_name_only_components_and_each_once(document: dict[str, Any]) -> None:
    known = [component["bom-ref"] for component in document["components"]]
    own = document["metadata"]["component"]["bom-ref"]
    assert len(set(known)) == len(known)
    assert [entry["ref"] for entry in document["dependencies"]] == [own, *known]
    assert {ref for entry in document["dependencies"] for ref in entry["dependsOn"]} == set(known)


def test_licences_are_stated_for_what_is_installed(document: dict[str, Any]) -> None:
    without = [one["name"] for one in document["components"] if "licenses" not in one and "properties" not in one]
    assert without == []


def test_document_is_the_same_each_time_and_names_no_registry(tmp_path: Path) -> None:
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-m", "tools.sbom", tmp_path / name], check=True, capture_output=True)
    for install in INSTALLS:
        first, second = ((tmp_path / name / f"precast-{install}.cdx.json").read_bytes() for name in ("one", "two"))
        assert first == second
        addresses = set(re.findall(rb'https?://[^/"]+', first))
        assert addresses == {b"http://cyclonedx.org"}
        assert json.loads(first)["components"]


def test_known_vulnerability_fails_the_audit() -> None:
    packages = [LockedPackage(name, "1.0", "", (), ()) for name in ("good", "bad", "withdrawn")]
    answers: dict[str, list[dict[str, Any]]] = {
        "good": [],
        "bad": [{"id": "CVE-1", "fixed_in": ["1.1"], "withdrawn": None}],
        "withdrawn": [{"id": "CVE-2", "fixed_in": [], "withdrawn": "2026-01-01"}],
    }
    found = audit(packages, lambda package: answers[package.name])
    assert found == Audit(["bad 1.0: CVE-1, fixed in 1.1"], {})
    assert found.code == 1


def test_audit_that_could_not_be_made_is_not_a_success() -> None:
    def fetch(_: LockedPackage) -> list[dict[str, Any]]:
        raise Unchecked("the index answers with status 404")

    found = audit([LockedPackage("one", "1.0", "", (), ())], fetch)
    assert found.unchecked == {"one": "the index answers with status 404"}
    assert found.code == 2
