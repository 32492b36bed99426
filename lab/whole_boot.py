"""A whole boot of a Debian machine, from a seed or a metadata service to a node with its first catalog, and observations of its result.

`python -m lab.whole_boot DIRECTORY EXPERIMENT` runs in the namespaces of `enter`: its own network, with the metadata service's address on
the loopback device, and an overlay over a Debian root as the machine. A real server serves the catalog. It prints its observations as JSON.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from lab import metadata_service
from lab.debian_root import PLACE
from lab.server_process import PRECAST
from lab.site import Site

MAC = "0a:07:84:3d:6e:38"
NODE = "web1.example.com"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJtWQ0jUTLCSRhQ0WpSIpsDhZX1sPT5wD2Zv0fGGGGGG ada@desk"
PASSWORD = "correct horse battery staple"
MANIFEST = "file { '/etc/motd': content => \"Welcome to ${trusted['certname']}.\\n\" }\n"
DEADLINE_S = 60.0


def enter(directory: Path, experiment: str) -> list[str]:
    """The command line that runs an experiment in its own namespaces."""
    words = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*words, sys.executable, "-m", "lab.whole_boot", str(directory), experiment]


class Machine:
    """A machine to boot: an overlay over the Debian root. Its only package repository is a local one."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "root"
        for name in ("upper", "work", "root"):
            (directory / name).mkdir(parents=True)
        layers = f"lowerdir={PLACE},upperdir={directory}/upper,workdir={directory}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.root], check=True)
        (self.root / "etc/apt/sources.list").write_text("")
        self._make_repository()

    def _make_repository(self) -> None:
        place = self.root / "srv/repo"
        package = place / "hello"
        (package / "DEBIAN").mkdir(parents=True)
        (package / "usr/bin").mkdir(parents=True)
        (package / "usr/bin/hello-precast").write_text("#!/bin/sh\necho hello\n")
        (package / "usr/bin/hello-precast").chmod(0o755)
        (package / "DEBIAN/control").write_text(
            "Package: hello-precast\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\n"
            "Description: says hello\n"
        )
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", package, place], check=True, capture_output=True)
        listed = subprocess.run(["dpkg-scanpackages", "."], cwd=place, check=True, capture_output=True).stdout
        (place / "Packages").write_bytes(listed)

    def seed(self, instance_id: str, user_data: str) -> None:
        """Write a NoCloud seed, as an image or a disk contains it."""
        place = self.root / "var/lib/cloud/seed/nocloud"
        place.mkdir(parents=True, exist_ok=True)
        (place / "meta-data").write_text(f"instance-id: {instance_id}\nlocal-hostname: from-the-seed\n")
        (place / "user-data").write_text(user_data)
        network = {"version": 2, "ethernets": {"eth0": {"addresses": ["192.0.2.10/24"], "gateway4": "192.0.2.1"}}}
        (place / "network-config").write_text(yaml.safe_dump(network))

    def words(self, *more: str) -> list[str]:
        return [PRECAST, "boot", "run", "--all", "--root", str(self.root), *more]

    def boot(self, *more: str) -> dict[str, Any]:
        """Boot to the end, and return the exit code, the output and the duration."""
        began_s = time.monotonic()
        done = subprocess.run(self.words(*more), capture_output=True, text=True, check=False, env=_plain())
        took_s = round(time.monotonic() - began_s, 2)
        return {"code": done.returncode, "out": done.stdout, "error": done.stderr, "took_s": took_s}

    def ask(self, *words: str) -> Any:
        done = subprocess.run(
            [PRECAST, "boot", *words, "--root", str(self.root), "--json"], capture_output=True, text=True, check=False
        )
        return json.loads(done.stdout) if done.stdout else done.stderr

    def inside(self, *words: str) -> str:
        done = subprocess.run(["chroot", self.root, *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def text(self, path: str) -> str:
        place = self.root / path
        return place.read_text() if place.is_file() else ""

    def seen(self) -> dict[str, Any]:
        """Observations of the machine after a boot."""
        shadow = next((line.split(":") for line in self.text("etc/shadow").splitlines() if line.startswith("ada:")), [])
        modes = {
            path: f"{(self.root / path).stat().st_mode & 0o7777:04o}"
            for path in ("etc/app.conf", "home/ada/.ssh/authorized_keys", "var/lib/precast/boot")
            if (self.root / path).exists()
        }
        return {
            "user": self.inside("id", "ada"),
            "is_password": bool(shadow) and _is_password(PASSWORD, shadow[1]),
            "keys": self.text("home/ada/.ssh/authorized_keys"),
            "modes": modes,
            "file": self.text("etc/app.conf"),
            "package": self.inside("sh", "-c", "hello-precast"),
            "hostname": self.text("etc/hostname").strip(),
            "network": self.text("etc/network/interfaces.d/50-precast"),
            "runcmd": self.text("var/log/runcmd"),
            "certificate": (self.root / "var/lib/precast/agent").is_dir(),
            "motd": self.text("etc/motd"),
        }

    def leaks(self) -> list[str]:
        """Files that other users may read and that contain the password or the token, except the seed, which belongs to the image."""
        leaking = []
        secrets = [PASSWORD.encode(), b"pce1."]
        for place, directories, names in os.walk(self.root / "var"):
            directories[:] = [
                directory
                for directory in directories
                if (Path(place) / directory).stat().st_mode & 0o005 and directory != "seed"
            ]
            paths = [Path(place) / name for name in names]
            for path in (path for path in paths if path.is_file() and path.lstat().st_mode & 0o004):
                data = path.read_bytes()
                leaking += [str(path.relative_to(self.root))] if any(secret in data for secret in secrets) else []
        return leaking

    def tree(self) -> dict[str, tuple[int, ...]]:
        """Every file with the metadata that shows a change, except the files of the boot's own state."""
        entries: dict[str, tuple[int, ...]] = {}
        for place, _, names in os.walk(self.root):
            for name in (*names, "."):
                path = Path(place) / name
                shown = str(path.relative_to(self.root))
                status = path.lstat()
                if not shown.startswith(("var/lib/precast/boot", "var/log", "proc", "sys", "dev", "run")):
                    entries[shown] = (status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns)
        return entries


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PRECAST_")}


def _is_password(password: str, hashed: str) -> bool:
    script = "print crypt($ARGV[0], $ARGV[1]) eq $ARGV[1] ? 1 : 0"
    done = subprocess.run(["perl", "-e", script, password, hashed], capture_output=True, text=True, check=True)
    return done.stdout == "1"


def user_data(site: Site, **more: Any) -> str:
    """User data with everything that a machine usually gets, and with its enrolment."""
    token = site.run("token", "enrol", NODE)["token"]
    config = {
        "fqdn": NODE,
        "users": [{"name": "ada", "shell": "/bin/bash", "lock_passwd": False, "ssh_authorized_keys": [KEY]}],
        "chpasswd": {"expire": False, "users": [{"name": "ada", "password": PASSWORD, "type": "text"}]},
        "write_files": [{"path": "/etc/app.conf", "content": "port = 8080\n", "permissions": "0640"}],
        "apt": {"sources": {"local.list": {"source": "deb [trusted=yes] file:/srv/repo ./"}}},
        "package_update": True,
        "packages": ["hello-precast"],
        "runcmd": ["echo ran >> /var/log/runcmd"],
        "precast": {"server": site.url, "token": token, "name": NODE, "wait": int(DEADLINE_S)},
        **more,
    }
    return f"#cloud-config\n{yaml.safe_dump(config, sort_keys=False)}"


@contextlib.contextmanager
def releasing(site: Site) -> Iterator[None]:
    """Act as an operator who releases the node's staged catalog, until the context ends."""
    is_over = threading.Event()

    def release() -> None:
        while not is_over.wait(0.2):
            done = subprocess.run(
                [PRECAST, "release", NODE, "--json"], env=site.environment, capture_output=True, check=False
            )
            if done.returncode == 0 and json.loads(done.stdout)["released"]:
                return

    thread = threading.Thread(target=release)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() > end_s:
            raise TimeoutError
        time.sleep(0.02)


@contextlib.contextmanager
def made_site(directory: Path) -> Iterator[Site]:
    with Site(directory / "site") as site:
        code = directory / "code"
        (code / "manifests").mkdir(parents=True)
        (code / "manifests/site.pp").write_text(MANIFEST)
        site.run("env", "deploy", "production", "--from", str(code))
        yield site


def whole(directory: Path) -> dict[str, Any]:
    """Boot, boot again, and boot as another instance."""
    results: dict[str, Any] = {}
    with made_site(directory) as site:
        machine = Machine(directory / "machine")
        machine.seed("i-1", user_data(site))
        with releasing(site):
            results["first"] = machine.boot()
        results["seen"], results["status"] = machine.seen(), machine.ask("status")
        results["leaks"] = machine.leaks()
        before = machine.tree()
        results["second"] = machine.boot()
        after = machine.tree()
        results["changed"] = sorted(
            path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
        )
        results["second_status"] = machine.ask("status")
        machine.seed("i-2", user_data(site, fqdn="web2.example.com", precast={"server": site.url, "apply": False}))
        results["other"] = machine.boot()
        results["other_seen"] = machine.seen()
        results["nodes"] = site.run("node", "list")
    return results


def cloud(directory: Path) -> dict[str, Any]:
    """Boot from a metadata service on the link-local address, with the platform's keys and network."""
    results: dict[str, Any] = {}
    with made_site(directory) as site:
        machine = Machine(directory / "machine")
        device = machine.root / "sys/class/net/eth0"
        device.mkdir(parents=True)
        (device / "address").write_text(f"{MAC}\n")
        meta = "latest/meta-data"
        nic = f"{meta}/network/interfaces/macs/{MAC}"
        files = {
            "latest/user-data": user_data(site, users=["default", {"name": "ada", "lock_passwd": False}]),
            f"{meta}/instance-id": "i-0abc",
            f"{meta}/local-hostname": "ip-10-0-0-5.internal",
            f"{meta}/public-keys": "0=ada",  # unlike other listings it has the names of the keys
            f"{meta}/public-keys/0/openssh-key": KEY,
            f"{nic}/device-number": "0",
            f"{nic}/local-ipv4s": "10.0.0.5\n10.0.0.6",
            f"{nic}/subnet-ipv4-cidr-block": "10.0.0.0/20",
        }
        with metadata_service.serving(files) as asked, releasing(site):
            results["first"] = machine.boot("--source", "ec2")
        results["asked"] = asked
        results["seen"] = machine.seen()
        results["default_keys"] = machine.text("home/debian/.ssh/authorized_keys")
    return results


def killed(directory: Path) -> dict[str, Any]:
    """Kill a boot in the middle of the user's commands, boot again, and a third time to repeat what was cut off."""
    results: dict[str, Any] = {}
    with made_site(directory) as site:
        machine = Machine(directory / "machine")
        commands = [
            "echo begun >> /var/log/runcmd",
            "[ -e /resumed ] || { touch /reached; sleep 600; }",
            "echo ran >> /var/log/runcmd",
        ]
        machine.seed("i-1", user_data(site, runcmd=commands, bootcmd=["echo boot >> /var/log/bootcmd"]))
        process = subprocess.Popen(machine.words(), stdout=subprocess.DEVNULL, env=_plain(), start_new_session=True)
        until((machine.root / "reached").exists)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        results["half"] = machine.seen()
        (machine.root / "resumed").touch()
        with releasing(site):
            results["again"] = machine.boot()
        results["status"] = machine.ask("status")
        results["seen"] = machine.seen()
        results["retried"] = machine.boot("--retry")
        results["retried_seen"] = machine.seen()
    return results


EXPERIMENTS = {"whole": whole, "killed": killed, "cloud": cloud}


def main() -> int:
    directory, experiment = Path(sys.argv[1]), sys.argv[2]
    for words in ("link set lo up", "address add 169.254.169.254/32 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    print(json.dumps(EXPERIMENTS[experiment](directory)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
