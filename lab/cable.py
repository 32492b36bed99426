"""Two network namespaces joined by a virtual cable: `eth0` on the machine's side, `srv0` on the other. The context deletes them at its end.

`ip netns exec` runs programs in them, and also mounts a /sys that shows their devices.
"""

import contextlib
import itertools
import os
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

MAC = "52:54:00:00:00:01"
_number = itertools.count()


class Cable(NamedTuple):
    """The names of the two namespaces."""

    machine: str
    other: str

    def on_machine(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.machine, *words]

    def on_other(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.other, *words]


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


@contextlib.contextmanager
def laid(address: str = "192.0.2.1/24") -> Iterator[Cable]:
    """Create both namespaces. The other side gets this address and is up; the machine's side is down. Needs root and iproute2."""
    name = f"precast-{os.getpid()}-{next(_number)}"
    cable = Cable(f"{name}-m", f"{name}-o")
    with contextlib.ExitStack() as undo:
        for namespace in cable:
            run("ip", "netns", "add", namespace)
            undo.callback(run, "ip", "netns", "del", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        run(
            "ip",
            "link",
            "add",
            "srv0",
            "netns",
            cable.other,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            cable.machine,
        )
        run("ip", "-n", cable.machine, "link", "set", "eth0", "address", MAC)
        run("ip", "-n", cable.other, "address", "add", address, "dev", "srv0")
        run("ip", "-n", cable.other, "link", "set", "srv0", "up")
        yield cable
