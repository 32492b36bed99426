"""Boot: a machine (a directory) finds its data source beside others that never answer, and does not wait for those."""

import contextlib
import functools
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from demo.presenter import Presenter

MACHINE = "fresh-machine"
SILENT = ("azure", "gce", "digitalocean", "openstack", "ec2")
FILES = {
    "meta-data": "instance-id: i-1\nlocal-hostname: web1\n",
    "user-data": '#cloud-config\ntimezone: Europe/Vienna\nwrite_files: [{path: /etc/app.conf, content: "port = 8080\\n"}]\n',
    "network-config": "version: 2\nethernets: {eth0: {dhcp4: true}}\n",
    "vendor-data": "",
}


def show(presenter: Presenter) -> None:
    presenter.title("Boot: five sources never answer, and the boot does not wait for them")
    root = presenter.directory / MACHINE
    for path, text in (("etc/passwd", "root:x:0:0::/root:/bin/sh\n"), ("etc/group", "root:x:0:\n"),
                       ("usr/lib/systemd/systemd-networkd", "")):  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    seed = presenter.directory / "seed"
    seed.mkdir()
    for name, text in FILES.items():
        (seed / name).write_text(text)
    with silent(len(SILENT)) as ports, served(seed) as port:
        words = ["boot", "run", "--root", MACHINE, "--address", f"nocloud-net=http://127.0.0.1:{port}/"]
        for name, silent_port in zip(SILENT, ports, strict=True):
            words += ["--address", f"{name}=http://127.0.0.1:{silent_port}"]
        presenter.run(
            *words, shown=f"boot run --root {MACHINE} --address nocloud-net=http://… --address azure=http://… …"
        )
        presenter.run("boot", "analyze", "--root", MACHINE)
        written = (root / "etc/systemd/network/10-precast-eth0.network").read_text()
        presenter.claim(
            "the network is configured for systemd-networkd, which this machine has", "DHCP=ipv4" in written
        )
        presenter.claim("the host name and the file are written", (root / "etc/hostname").read_text() == "web1\n")
        before = sorted((path, path.lstat().st_mtime_ns) for path in (root / "etc").rglob("*"))
        presenter.ask(*words)
    after = sorted((path, path.lstat().st_mtime_ns) for path in (root / "etc").rglob("*"))
    presenter.claim("a second boot of the same instance changes nothing", before == after)


@contextlib.contextmanager
def silent(count: int) -> Iterator[list[int]]:
    """Open ports that accept connections and never answer."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        yield [listener.getsockname()[1] for listener in listeners]


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing: requests are not part of the demo."""


@contextlib.contextmanager
def served(directory: Path) -> Iterator[int]:
    """Serve the files of a directory over HTTP, and give the port."""
    handler = functools.partial(_QuietHandler, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
