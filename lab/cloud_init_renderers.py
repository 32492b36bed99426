"""Renders network configurations with Debian's cloud-init, whose classes alone are used: run by the system's Python, in a namespace.

Reads {name: document} as JSON, and writes {name: {renderer: {path: text}}}; a renderer that fails has {"": reason}.
"""

import copy
import json
import sys
import tempfile
from pathlib import Path


def main() -> None:
    from cloudinit.net import eni, netplan, network_manager, network_state, networkd  # type: ignore[import-not-found]

    renderers = {"netplan": netplan, "networkd": networkd, "eni": eni, "network-manager": network_manager}
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, document in json.load(sys.stdin).items():
        for renderer, module in renderers.items():
            with tempfile.TemporaryDirectory() as place:
                # Without this it would look for programs, and for devices of this machine.
                config = {
                    "netplan_path": "etc/netplan/50.yaml",
                    "postcmds": False,
                    "eni_path": "etc/network/interfaces",
                }
                try:
                    made = module.Renderer(config)
                    state = network_state.parse_net_config_data(copy.deepcopy(document), renderer=made)
                    made.render_network_state(state, target=place)
                    files = [path for path in Path(place).rglob("*") if path.is_file()]
                    texts = {str(path.relative_to(place)): path.read_text() for path in files}
                except Exception as error:  # noqa: BLE001 - whatever it is, it is an answer
                    texts = {"": f"{type(error).__name__}: {error}"}
            found.setdefault(name, {})[renderer] = texts
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
