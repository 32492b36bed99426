"""A mixed catalog of 460 resources for a copy of this machine: packages, services, accounts, hosts, cron jobs, files, guarded commands.

Precast applies it once, and then Precast and Puppet are measured in the same root: both find everything in sync. Everything in it is real:
packages that dpkg has installed, init scripts that report a status, accounts created by useradd, jobs installed by crontab, guard commands.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.apply_cases.process import best
from lab.overlay import OverlayRoot, why_not

PACKAGES, SERVICES, USERS, GROUPS, HOSTS, JOBS, FILES, COMMANDS = 140, 20, 40, 40, 40, 40, 100, 40
RESOURCES = PACKAGES + SERVICES + USERS + GROUPS + HOSTS + JOBS + FILES + COMMANDS
MANIFEST = "/etc/mixed.pp"
MODULES = "/opt/modules"

PRECAST_ROUNDS, PUPPET_ROUNDS = 5, 2

_SCRIPT = """\
#!/bin/sh
### BEGIN INIT INFO
# Provides: {name}
# Required-Start: $remote_fs
# Required-Stop: $remote_fs
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: a service that remembers whether it runs
### END INIT INFO
case "$1" in
start) : > /var/lib/{name} ;;
stop) rm -f /var/lib/{name} ;;
status) test -e /var/lib/{name} ;;
esac
"""


def measure_mixed() -> dict[str, Any] | None:
    """Measure a run without a change, as whole processes. None if Puppet is missing or the machine cannot be copied."""
    if why_not() is not None or shutil.which("puppet") is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        root = MixedRoot(Path(directory))
        ours = [sys.executable, "-m", "precast", "apply", MANIFEST]
        # Only the modules whose types are used: the hundred others would slow down Puppet's start.
        theirs = ["puppet", "apply", "--color=false", "--modulepath", MODULES, MANIFEST]
        root.prepare(ours)
        precast = best(root.command(ours), PRECAST_ROUNDS)
        puppet = best(root.command(theirs), PUPPET_ROUNDS)
    if "all in sync" not in precast.out or "/Stage[main]" in puppet.out:
        raise SystemExit(f"the run was not without a change:\n{precast.out[-1000:]}\n{puppet.out[-1000:]}")
    return {
        "resources": RESOURCES,
        "precast_s": precast.wall_s,
        "puppet_s": puppet.wall_s,
        "precast_peak_mb": precast.peak_mb,
        "puppet_peak_mb": puppet.peak_mb,
    }


class MixedRoot(OverlayRoot):
    """The copy of the machine with the services and the manifest in it."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.write(MANIFEST, manifest(installed()))
        for name in ("cron_core", "host_core"):
            link = self.written(f"{MODULES}/{name}")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"/usr/share/puppet/modules/{name}")
        for at in range(SERVICES):
            self.write(f"/etc/init.d/mixed{at}", _SCRIPT.format(name=f"mixed{at}"), 0o755)

    def prepare(self, argv: Sequence[str]) -> None:
        """Apply the manifest once. Raises RuntimeError if that fails."""
        done = self.run(argv, timeout_s=600)
        if done.returncode not in (0, 2):
            raise RuntimeError(done.stdout[-2000:])


def installed() -> list[str]:
    """The names of packages that are installed on this machine, as many as the manifest needs."""
    names = []
    for part in Path("/var/lib/dpkg/status").read_text(errors="replace").split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in part.splitlines() if not line.startswith(" "))
        if fields.get("Status") == "install ok installed":
            names.append(fields["Package"])
    if len(set(names)) < PACKAGES:
        raise RuntimeError(f"only {len(names)} packages are installed here, and {PACKAGES} are needed")
    return sorted(set(names))[:PACKAGES]


def manifest(packages: Sequence[str]) -> str:
    """460 resources as Puppet code."""
    return "\n".join(_resources(packages)) + "\n"


def _resources(packages: Sequence[str]) -> Iterator[str]:
    for name in packages:
        yield f"package {{ '{name}': ensure => installed }}"
    for at in range(GROUPS):
        yield f"group {{ 'mg{at}': ensure => present, gid => {6000 + at} }}"
    for at in range(USERS):
        more = (
            f"gid => 'mg{at}', groups => ['adm'], home => '/home/mu{at}', shell => '/bin/sh', comment => 'Mixed {at}'"
        )
        yield f"user {{ 'mu{at}': ensure => present, uid => {6000 + at}, {more} }}"
    for at in range(HOSTS):
        yield f"host {{ 'mixed{at}.example': ip => '10.9.0.{at + 1}', host_aliases => ['mixed{at}'] }}"
    for at in range(JOBS):
        yield f"cron {{ 'mixed{at}': command => '/bin/true {at}', minute => {at}, hour => [1, 13] }}"
    yield "file { '/etc/mixed': ensure => directory }"
    for at in range(FILES - 1):
        yield f"file {{ '/etc/mixed/{at}.conf': content => \"value = {at}\\n\", mode => '0640' }}"
    for at in range(SERVICES):
        yield f"service {{ 'mixed{at}': ensure => running, enable => true }}"
    for at in range(COMMANDS):
        guard = "unless => '/usr/bin/test -d /etc/mixed'" if at % 2 else "creates => '/etc/mixed'"
        yield f"exec {{ '/bin/false {at}': {guard} }}"
