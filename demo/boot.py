"""Boot: a machine (a directory stands for it) finds its data among sources that never answer, and does not wait for them."""

import contextlib
import functools
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from demo.stage import Stage

MACHINE = "fresh-machine"
SILENT = ("azure", "gce", "digitalocean", "openstack", "ec2")
FILES = {
    "meta-data": "instance-id: i-1\nlocal-hostname: web1\n",
    "user-data": '#cloud-config\ntimezone: Europe/Vienna\nwrite_files: [{path: /etc/app.conf, content: "port = 8080\\n"}]\n',
    "network-config": "version: 2\nethernets: {eth0: {dhcp4: true}}\n",
    "vendor-data": "",
}


def show(stage: Stage) -> None:
    stage.title("Boot: five sources are silent, one answers, nobody waits for the five")
    root = stage.directory / MACHINE
    for path, text in (("etc/passwd", "root:x:0:0::/root:/bin/sh\n"), ("etc/group", "root:x:0:\n"),
                       ("usr/lib/systemd/systemd-networkd", "")):  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    seed = stage.directory / "seed"
    seed.mkdir()
    for name, text in FILES.items():
        (seed / name).write_text(text)
    with silent(len(SILENT)) as ports, served(seed) as port:
        words = ["boot", "run", "--root", MACHINE, "--address", f"nocloud-net=http://127.0.0.1:{port}/"]
        for name, deaf in zip(SILENT, ports, strict=True):
            words += ["--address", f"{name}=http://127.0.0.1:{deaf}"]
        stage.run(*words, shown=f"boot run --root {MACHINE} --address nocloud-net=http://… --address azure=http://… …")
        stage.run("boot", "analyze", "--root", MACHINE)
        written = (root / "etc/systemd/network/10-precast-eth0.network").read_text()
        stage.claim("the network is written for what the machine has", "DHCP=ipv4" in written)
        stage.claim("the host name and the file are there", (root / "etc/hostname").read_text() == "web1\n")
        before = sorted((path, path.lstat().st_mtime_ns) for path in (root / "etc").rglob("*"))
        stage.ask(*words)
    after = sorted((path, path.lstat().st_mtime_ns) for path in (root / "etc").rglob("*"))
    stage.claim("a second boot of the same instance changes nothing", before == after)


@contextlib.contextmanager
def silent(count: int) -> Iterator[list[int]]:
    """Ports where somebody listens and never answers."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        yield [one.getsockname()[1] for one in sockets]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """The stage shows what is worth showing."""


@contextlib.contextmanager
def served(directory: Path) -> Iterator[int]:
    """The port of a server of these files."""
    handler = functools.partial(_Quiet, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
