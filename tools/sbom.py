"""Writes the software bills of materials: one CycloneDX document for each install, from requirements.lock and pyproject.toml.

The same lock gives the same bytes: there is no time in a document, and its serial number is derived from its content. Licences are those
that the installed packages state; a package of another platform is not installed here and has none.
"""

import json
import sys
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

import precast
from tools.locked import INSTALLS, PROJECT, ROOT, LockedPackage, read_lock, requirements, roots, select

SPECIFICATION = "1.6"
_CLASSIFIER = "License :: OSI Approved :: "


def make_document(install: str, packages: dict[str, LockedPackage]) -> dict[str, Any]:
    """The bill of one install."""
    chosen = [packages[name] for name in select(install, packages)]
    own = f"pkg:pypi/{PROJECT}@{precast.__version__}"
    content = {
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": PROJECT,
                "version": precast.__version__,
                "purl": own,
                "description": f"Precast as it is installed on a {'node' if install == 'agent' else 'server'}",
                "licenses": [{"expression": "Apache-2.0"}],
            },
            "properties": [{"name": "precast:install", "value": install}],
        },
        "components": [_component(package) for package in chosen],
        "dependencies": [
            {"ref": own, "dependsOn": [packages[name].purl for name in roots(install)]},
            *(
                {"ref": one.purl, "dependsOn": [packages[name].purl for name in requirements(one.name, packages)]}
                for one in chosen
            ),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return {**head, **content}


def _component(package: LockedPackage) -> dict[str, Any]:
    files = [{"alg": "SHA-256", "content": value} for value in package.hashes]
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        # The archives that the lock allows, one hash each.
        "externalReferences": [{"type": "distribution", "url": package.purl, "hashes": files}],
    }
    if licences := _licences(package.name):
        component["licenses"] = licences
    if package.marker:
        component["properties"] = [{"name": "precast:marker", "value": package.marker}]
    return component


def _licences(name: str) -> list[dict[str, Any]]:
    try:
        stated = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return []
    if "License-Expression" in stated:
        return [{"expression": stated["License-Expression"]}]
    classified = [line.removeprefix(_CLASSIFIER) for line in stated.get_all("Classifier", []) if _CLASSIFIER in line]
    written = stated["License"].strip() if "License" in stated else ""
    # Some packages put the whole text of the licence there.
    names = classified or ([written] if written and "\n" not in written else [])
    return [{"license": {"name": text}} for text in names]


def main() -> None:
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    directory.mkdir(parents=True, exist_ok=True)
    packages = read_lock()
    for install in INSTALLS:
        path = directory / f"precast-{install}.cdx.json"
        path.write_text(json.dumps(make_document(install, packages), indent=2) + "\n")
        print(f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


if __name__ == "__main__":
    main()
