"""Golden files: the expected output of each renderer for each network. `python -m tests.unit.boot.network.renderings` writes them again,
to be read and judged before they are kept."""

import sys
from pathlib import Path

from precast.boot.network.readers import documents
from precast.boot.network.renderers import eni, keyfile, netplan, networkd
from precast.boot.network.renderers.rendering import Render

GOLDEN = Path(__file__).with_name("golden")
RENDERERS: dict[str, Render] = {
    "netplan": netplan.render,
    "networkd": networkd.render,
    "eni": eni.render,
    "network-manager": keyfile.render,
}
CASES = sorted(path.stem for path in GOLDEN.glob("*.yaml"))


def rendered(case: str, renderer: str) -> str:
    """All files of a rendering in one text, each under its path and mode; then the warnings."""
    network = documents.read_text(f"{case}.yaml", (GOLDEN / f"{case}.yaml").read_text())
    files, warnings = RENDERERS[renderer](network)
    parts = [f"==== {file.path} {file.mode:04o}\n{file.text}" for file in files]
    return "".join([*parts, *(f"==== {error.message} [{error.code}]\n" for error in (*network.warnings, *warnings))])


def main() -> int:
    for case in CASES:
        for renderer in RENDERERS:
            (GOLDEN / f"{case}.{renderer}").write_text(rendered(case, renderer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
