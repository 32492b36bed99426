"""Runs one side of a comparison: an overlay over Debian's cloud root, entered in namespaces, booted, and observed.

Both sides get the same root, seed, repository and command line of the kernel. Inside the namespaces there is no network but the loopback
device, no block device, and neither kernel settings nor the clock can be changed: user data is the code of strangers, and runs as root.
`python -m lab.boot_equality.machines DIRECTORY SIDE` runs inside the namespaces, and prints its observations as JSON.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab.boot_equality import observations
from lab.debian_root import CLOUD_PLACE

SIDES = ("cloud-init", "precast")
IMAGE = "image"  # a machine that nothing boots
META_DATA = "instance-id: i-equal\nlocal-hostname: seeded\n"
DEADLINE_S = 240.0
_PROJECT = Path(__file__).resolve().parents[2]
_STAGES = ("init --local", "init", "modules --mode=config", "modules --mode=final")
# Packages that the local repository offers: the ones that public user data installs most. They are empty.
PACKAGES = (
    "apache2", "apt-transport-https", "build-essential", "certbot", "curl", "docker.io", "fail2ban", "git", "haproxy",
    "htop", "jq", "make", "mc", "net-tools", "nginx", "nodejs", "ntp", "openjdk-17-jre", "postgresql", "python3-pip", "qemu-guest-agent",
    "redis-server", "software-properties-common", "tmux", "ufw", "unattended-upgrades", "unzip", "vim", "wget", "zip", "zsh",
)  # fmt: skip
# The capabilities that would reach beyond the namespaces.
_DROPPED = "-sys_module,-sys_time,-sys_rawio,-mknod,-syslog,-sys_pacct,-mac_admin,-perfmon,-bpf"


def enter(directory: Path, side: str) -> list[str]:
    """The command line that runs one side in namespaces of its own."""
    words = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    bounds = ["setpriv", f"--bounding-set={_DROPPED}", f"--inh-caps={_DROPPED}"]
    return [*words, *bounds, sys.executable, "-m", "lab.boot_equality.machines", str(directory), side]


def make_repository(place: Path) -> None:
    """Make the local repository of empty packages, once for all comparisons."""
    place.mkdir(parents=True)
    for name in PACKAGES:
        package = place / name
        (package / "DEBIAN").mkdir(parents=True)
        (package / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\n"
            f"Description: an empty package\n"
        )
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", package, place], check=True, capture_output=True)
    listed = subprocess.run(["dpkg-scanpackages", "."], cwd=place, check=True, capture_output=True).stdout
    (place / "Packages").write_bytes(listed)


def _mount(directory: Path) -> Path:
    """Mount the machine's root. Raises CalledProcessError."""
    root = directory / "root"
    for name in ("upper", "work", "root"):
        (directory / name).mkdir(parents=True)
    (directory / "upper").chmod(0o755)
    layers = f"lowerdir={CLOUD_PLACE},upperdir={directory}/upper,workdir={directory}/work"
    interpreter = Path(sys.base_prefix)
    script = f"""
    set -e
    mount -t overlay overlay -o {layers} {root}
    mount -t proc proc {root}/proc
    for path in {root}/proc/sys {root}/proc/sysrq-trigger; do
        [ ! -e $path ] || {{ mount --bind $path $path; mount -o remount,bind,ro $path; }}
    done
    mount -t sysfs -o ro sys {root}/sys
    mount -t tmpfs -o mode=755 run {root}/run; mkdir {root}/run/lock; chmod 1777 {root}/run/lock
    mount -t tmpfs -o mode=755 dev {root}/dev
    for name in null zero full random urandom tty; do : > {root}/dev/$name; mount --bind /dev/$name {root}/dev/$name; done
    ln -s /proc/self/fd {root}/dev/fd; mkdir {root}/dev/pts {root}/dev/shm; : > {root}/dev/console
    mkdir -p {root}/srv/repo; mount --bind {directory.parent.parent}/repository {root}/srv/repo
    for place in {_PROJECT} {"" if str(interpreter) == "/usr" else interpreter}; do
        mkdir -p {root}$place; mount --bind $place {root}$place; mount -o remount,bind,ro {root}$place
    done
    ip link set lo up
    """
    subprocess.run(["sh", "-c", script], check=True)
    return root


def _seed(root: Path, user_data: bytes) -> None:
    place = root / "var/lib/cloud/seed/nocloud"
    place.mkdir(parents=True)
    (place / "meta-data").write_text(META_DATA)
    (place / "user-data").write_bytes(user_data)
    (root / "etc/cloud/cloud.cfg.d/99-lab.cfg").write_text(
        # Newer releases of cloud-init generate these, and no DSA key.
        "datasource_list: [NoCloud, None]\nnetwork: {config: disabled}\nssh_genkeytypes: [rsa, ecdsa, ed25519]\n"
    )
    (root / "etc/apt/sources.list.d/lab.list").write_text("deb [trusted=yes] file:/srv/repo ./\n")
    for path in (root / "var/lib/apt/lists").glob("*_*"):
        path.unlink()  # without lists, apt does not look for the mirror's packages
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
    (root / "etc/hostname").write_text("image\n")
    (root / "etc/default/locale").write_text("LANG=C.UTF-8\n")  # as Debian's cloud images have it
    subprocess.run(["hostname", "image"], check=True)


def _boot(root: Path, side: str) -> list[tuple[int, str]]:
    """Boot, and return the exit code and the output of each command."""
    if side == "precast":
        commands = [[str(Path(sys.executable).with_name("precast")), "boot", "run", "--all"]]
    else:
        commands = [["cloud-init", *stage.split()] for stage in _STAGES if side != IMAGE]
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
    said = []
    for command in commands:
        process = subprocess.Popen(
            ["chroot", root, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True, text=True, errors="replace",
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=DEADLINE_S)
            said.append((process.returncode, out))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            said.append((-1, f"did not end within {DEADLINE_S:.0f} s"))
    return said


def run(directory: Path, side: str) -> dict[str, Any]:
    """Boot the machine in `directory` with one side, and return what it is afterwards."""
    root = _mount(directory)
    _seed(root, (directory.parent / "user-data").read_bytes())
    said = _boot(root, side)
    return {"said": said, "seen": observations.observe(root, directory / "upper")}


def main() -> int:
    directory, side = Path(sys.argv[1]), sys.argv[2]
    (directory.parent / f"{side}.json").write_text(json.dumps(run(directory, side)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
