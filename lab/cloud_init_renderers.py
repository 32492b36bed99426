"""Renders network configurations with the classes of Debian's cloud-init. The system's Python runs it, in a network namespace.

It reads {name: document} as JSON, and writes {name: {renderer: {path: text}}}; a renderer that fails has {"": reason}.
"""

import copy
import json
import sys
import tempfile
from pathlib import Path


def main() -> None:
    from cloudinit.net import eni, netplan, network_manager, network_state, networkd  # type: ignore[import-not-found]

    renderers = {"netplan": netplan, "networkd": networkd, "eni": eni, "network-manager": network_manager}
    rendered: dict[str, dict[str, dict[str, str]]] = {}
    for name, document in json.load(sys.stdin).items():
        for renderer, module in renderers.items():
            with tempfile.TemporaryDirectory() as directory:
                # Without these settings the renderers would look for programs and devices of this machine.
                config = {
                    "netplan_path": "etc/netplan/50.yaml",
                    "postcmds": False,
                    "eni_path": "etc/network/interfaces",
                }
                try:
                    instance = module.Renderer(config)
                    state = network_state.parse_net_config_data(copy.deepcopy(document), renderer=instance)
                    instance.render_network_state(state, target=directory)
                    files = [path for path in Path(directory).rglob("*") if path.is_file()]
                    texts = {str(path.relative_to(directory)): path.read_text() for path in files}
                except Exception as error:  # noqa: BLE001 - the boundary: every failure is reported as an answer
                    texts = {"": f"{type(error).__name__}: {error}"}
            rendered.setdefault(name, {})[renderer] = texts
    json.dump(rendered, sys.stdout)


if __name__ == "__main__":
    main()
