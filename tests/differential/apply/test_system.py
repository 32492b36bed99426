"""Accounts, hosts, jobs, packages and services: Puppet and Precast do the same, say the same, and find each other's work settled."""

import subprocess
from pathlib import Path

import pytest

from lab.overlay import why_not
from tests.differential.apply.local_packages import make_repository
from tests.differential.apply.system_generator import manifests
from tests.differential.apply.system_roots import Event, TwoRoots, meaningful, without_day

_NOT_HERE = why_not()
pytestmark = [
    pytest.mark.skipif(_NOT_HERE is not None, reason=_NOT_HERE or ""),
    pytest.mark.needs("puppet"),
    pytest.mark.needs("crontab"),
    pytest.mark.timeout(600),
]

ACCOUNTS = [
    """
    group { 'devs': ensure => present, gid => 4242 }
    group { 'ops': ensure => present, system => true }
    group { 'bare': }
    group { 'tape': gid => 0 }
    user { 'alice': ensure => present, uid => 4001, gid => 'devs', groups => ['ops','adm'], home => '/home/alice',
      managehome => true, shell => '/bin/sh', comment => 'Alice A', password => '$6$abc$def', password_max_age => 90,
      password_min_age => 1, password_warn_days => 5, expiry => '2030-01-02' }
    user { 'bob': ensure => present, system => true }
    user { 'carol': ensure => present, uid => '4003', groups => 'ops', expiry => 'absent', managehome => true }
    user { 'bare': }
    user { 'gone': ensure => absent }
    user { 'dup': uid => 0 }
    user { 'twin': uid => 4001, gid => 'devs', allowdupe => true }
    user { 'nogroup': gid => 9999 }
    user { 'noshell': ensure => present, shell => '/no/such' }
    user { 'empty': ensure => present, password => '' }
    user { 'daemon': groups => ['bin', 'adm'] }
    user { 'games': gid => 'nosuchgroup' }
    """,
    """
    group { 'devs': ensure => present, gid => 4300 }
    group { 'ops': gid => '555' }
    group { 'bare': ensure => absent }
    user { 'alice': uid => 4002, gid => 'ops', groups => ['devs'], membership => inclusive, home => '/home/alice2',
      managehome => true, shell => '/bin/bash', comment => 'Alice B', password => '$6$abc$xyz', password_max_age => 91,
      password_min_age => 2, password_warn_days => 6, expiry => absent }
    user { 'bob': groups => ['adm'], password => Sensitive('$6$q$r'), expiry => '2031-03-04' }
    user { 'carol': ensure => absent, managehome => true }
    user { 'daemon': groups => ['sys'] }
    user { 'empty': password => '!' }
    """,
]
ACCOUNTS_FILES = ("/etc/passwd", "/etc/group", "/etc/gshadow")

LINES = [
    """
    host { 'db1.example': ip => '10.0.0.1', host_aliases => ['db1','db'], comment => 'the db' }
    host { 'db2.example': ensure => present, ip => '10.0.0.2' }
    host { 'six.example': ip => 'fe80::1', host_aliases => 'six' }
    host { 'none.example': ensure => absent }
    cron { 'nightly': command => '/bin/true', hour => 2, minute => [0, 30] }
    cron { 'spec': command => '/bin/false', special => 'daily', user => 'daemon', environment => ['A=b','MAILTO=x'] }
    cron { 'star': command => '/bin/echo a % b', weekday => 'Monday', month => ['jan','Feb'], monthday => '1-5' }
    cron { 'steps': command => '/bin/echo "quoted  twice"', minute => '*/5', user => 'daemon' }
    cron { 'none': ensure => absent }
    """,
    """
    host { 'db1.example': ip => '10.0.0.11', host_aliases => ['db1','dbx'], comment => 'the db 2' }
    host { 'db2.example': ensure => absent }
    cron { 'nightly': command => '/bin/true x', hour => absent, minute => [0, 31] }
    cron { 'spec': command => '/bin/false', special => 'absent', user => 'daemon', minute => 5 }
    cron { 'star': ensure => absent }
    cron { 'steps': command => '/bin/echo "quoted  twice"', minute => '*/5', hour => '*', user => 'daemon' }
    """,
]
LINE_FILES = ("/etc/hosts", "/var/spool/cron/crontabs/root", "/var/spool/cron/crontabs/daemon")

PACKAGES = [
    """
    package { 'pc-one': ensure => '1.0' }
    package { 'pc-three': ensure => latest }
    package { 'pc-never': ensure => installed }
    package { 'pc-gone': ensure => absent }
    package { 'pc-two': ensure => '9.9' }
    package { 'pc-range': ensure => '>=1.0 <2.0' }
    """,
    """
    package { 'pc-one': ensure => latest }
    package { 'pc-three': ensure => absent }
    package { 'pc-two': ensure => installed }
    package { 'from a file': name => 'pc-file', provider => dpkg, source => '/root/repository/pc-file_1.0_all.deb' }
    """,
    """
    package { 'pc-one': ensure => '1.0', install_options => ['--allow-downgrades'], mark => hold }
    package { 'pc-three': ensure => purged }
    package { 'pc-two': ensure => purged }
    """,
    "package { 'pc-one': ensure => latest }",
    "package { 'pc-one': ensure => '1.1', mark => none }",
]

SERVICES = [
    """
    service { 'pc-a': ensure => running, enable => true }
    service { 'pc-b': ensure => running, enable => true }
    service { 'pc-c': ensure => stopped, enable => false }
    service { 'pc-d': ensure => running, enable => true }
    service { 'pc-e': enable => mask }
    service { 'pc-static': ensure => running, enable => true }
    service { 'pc-bad': ensure => running }
    service { 'pc-none': ensure => running }
    service { 'pc-none-either': ensure => stopped, enable => false }
    """,
    """
    notify { 'x': } ~> service { 'pc-a': ensure => running, enable => false }
    service { 'pc-c': restart => '/bin/touch /restarted-c', subscribe => Notify['x'] }
    service { 'pc-d': restart => '/bin/touch /restarted-d', subscribe => Notify['x'] }
    service { 'pc-e': enable => true }
    service { 'pc-b': ensure => stopped }
    service { 'own': ensure => running, start => '/bin/touch /own', status => '/usr/bin/test -f /own', provider => base }
    """,
]
KEYS = [
    """
    user { 'kim': ensure => present, managehome => true }
    ssh_authorized_key { 'kim@laptop': user => 'kim', type => 'ssh-ed25519', key => 'AAAAC3NzaC1lZDI1NTE5AAAAIJ3' }
    ssh_authorized_key { 'kim@desk': user => 'kim', type => 'rsa', key => 'AAAAB3Nza',
      options => ['no-pty', 'command="/bin/x y"'] }
    ssh_authorized_key { 'gone': ensure => absent, user => 'kim', type => 'rsa', key => 'AAAAB3Nza' }
    file { '/etc/ssh-keys': ensure => directory }
    ssh_authorized_key { 'elsewhere': target => '/etc/ssh-keys/kim', user => 'root', type => 'ssh-rsa', key => 'AAAAB3Nzb' }
    sshkey { 'git.example@ssh-ed25519': key => 'AAAAC3x', host_aliases => ['git', '10.0.0.3'] }
    sshkey { 'old.example@ssh-rsa': key => 'AAAAB3y' }
    mount { '/mnt/x': ensure => present, device => 'tmpfs', fstype => 'tmpfs', options => 'size=1m', dump => 0, pass => 0 }
    mount { '/mnt/y': ensure => mounted, device => 'ytmp', fstype => 'tmpfs', options => 'size=1m' }
    mount { '/mnt/z': ensure => unmounted, device => 'ztmp', fstype => 'tmpfs' }
    mount { '/mnt/w': ensure => absent }
    """,
    """
    ssh_authorized_key { 'kim@laptop': user => 'kim', type => 'ssh-rsa', key => 'AAAAC3NzaC1lZDI1NTE5AAAAIJ4',
      options => 'no-pty' }
    ssh_authorized_key { 'kim@desk': user => 'kim', type => 'rsa', key => 'AAAAB3Nza', options => ['no-pty'] }
    ssh_authorized_key { 'elsewhere': ensure => absent, target => '/etc/ssh-keys/kim', user => 'root',
      type => 'ssh-rsa', key => 'AAAAB3Nzb' }
    sshkey { 'git.example@ssh-ed25519': key => 'AAAAC3z', host_aliases => ['git'] }
    sshkey { 'old.example@ssh-rsa': ensure => absent }
    mount { '/mnt/x': ensure => mounted, device => 'tmpfs', fstype => 'tmpfs', options => 'size=2m', dump => 0, pass => 0 }
    mount { '/mnt/y': ensure => unmounted, device => 'ytmp', fstype => 'tmpfs', options => 'size=1m' }
    mount { '/mnt/z': ensure => absent }
    """,
    """
    user { 'kim': ensure => present, purge_ssh_keys => true }
    ssh_authorized_key { 'kim@desk': user => 'kim', type => 'rsa', key => 'AAAAB3Nza', options => ['no-pty'] }
    """,
    "mount { '/mnt/x': ensure => mounted, device => 'tmpfs', fstype => 'tmpfs', options => 'size=3m', dump => 0, pass => 1 }",
    "exec { '/bin/sh -c \"grep /mnt/ /proc/mounts > /mounted\"': }",
    "mount { '/mnt/x': ensure => absent }",
]
KEY_FILES = (
    "/home/kim/.ssh/authorized_keys",
    "/etc/ssh-keys/kim",
    "/etc/ssh/ssh_known_hosts",
    "/etc/fstab",
    "/mounted",
)

SCRIPTS = [
    """
    service { 'pc-a': ensure => running, enable => true }
    service { 'pc-b': ensure => stopped, enable => false }
    service { 'pc-none': ensure => stopped }
    service { 'pc-seen': ensure => running, hasstatus => false, pattern => 'sleep 4711', start => '/bin/true' }
    """,
    """
    notify { 'x': } ~> service { 'pc-a': ensure => running, enable => true }
    service { 'pc-b': ensure => running, hasrestart => true, subscribe => Notify['x'] }
    """,
]
SCRIPT = """\
#!/bin/sh
### BEGIN INIT INFO
# Provides: {name}
# Required-Start: $remote_fs
# Required-Stop: $remote_fs
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: writes down what it is told
### END INIT INFO
case "$1" in
start) echo start >> /var/log/{name}; : > /var/lib/{name} ;;
stop) echo stop >> /var/log/{name}; rm -f /var/lib/{name} ;;
restart) echo restart >> /var/log/{name} ;;
status) test -e /var/lib/{name} ;;
esac
"""

# Or they would bring up half a system first.
ALONE = "[Unit]\nDefaultDependencies=no\n"
STATES = "systemctl show -p Id,ActiveState,UnitFileState " + " ".join(
    f"pc-{name}" for name in ("a", "b", "c", "d", "e", "static", "bad")
)


@pytest.fixture
def roots(tmp_path: Path) -> TwoRoots:
    tmp_path.chmod(0o755)
    return TwoRoots(tmp_path)


def again(manifests: list[str]) -> list[str]:
    """All of them, the last one twice: nothing is left for the second time."""
    return [*manifests, manifests[-1]]


def changes(events: list[list[Event]]) -> int:
    return sum(map(len, events))


def test_accounts_come_out_alike_and_are_told_alike(roots: TwoRoots) -> None:
    puppets = roots.by_puppet(again(ACCOUNTS))
    ours = roots.by_precast(again(ACCOUNTS))
    assert ours == puppets
    assert (changes(puppets), ours[-1]) == (34, [])
    for path in ACCOUNTS_FILES:
        assert roots.precast.read(path) == roots.puppet.read(path)
    assert without_day(roots.precast.read("/etc/shadow")) == without_day(roots.puppet.read("/etc/shadow"))
    assert _tree(roots.precast.written("/home")) == _tree(roots.puppet.written("/home"))
    # Puppet finds nothing to do where Precast was.
    assert roots.by_puppet([ACCOUNTS[-1]], roots.precast) == [[]]


def test_hosts_and_jobs_come_out_alike_and_are_told_alike(roots: TwoRoots) -> None:
    puppets = roots.by_puppet(again(LINES))
    ours = roots.by_precast(again(LINES))
    assert ours == puppets
    assert (changes(puppets), ours[-1]) == (17, [])
    for path in LINE_FILES:
        assert meaningful(roots.precast.read(path)) == meaningful(roots.puppet.read(path))
    assert roots.by_puppet([LINES[-1]], roots.precast) == [[]]


# More seeds were tried by hand; each takes Puppet half a minute.
GENERATED, SEEDS = 5, (1,)
PURGE = """
resources { ['host', 'cron']: purge => true }
host { 'localhost': ip => '127.0.0.1' }
host { 'kept.example': ip => '10.0.0.1' }
cron { 'new': command => '/bin/new', hour => 3 }
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_manifests_come_out_alike_and_are_told_alike(roots: TwoRoots, seed: int) -> None:
    steps = again(manifests(seed, GENERATED))
    puppets = roots.by_puppet(steps)
    ours = roots.by_precast(steps)
    for step, (our, puppet) in enumerate(zip(ours, puppets, strict=True)):
        assert our == puppet, f"step {step}: {steps[step]}"
    assert changes(puppets) > 100
    assert ours[-1] == []
    for path in ACCOUNTS_FILES:
        assert roots.precast.read(path) == roots.puppet.read(path)
    assert without_day(roots.precast.read("/etc/shadow")) == without_day(roots.puppet.read("/etc/shadow"))
    for path in LINE_FILES:
        assert meaningful(roots.precast.read(path)) == meaningful(roots.puppet.read(path))


def test_what_nobody_declared_is_purged_alike(roots: TwoRoots) -> None:
    for root in roots.both():
        root.write("/etc/hosts", "127.0.0.1 localhost\n10.0.0.1 kept.example\n10.0.0.2 stray.example stray\n")
        root.write("/root/tab", "MAILTO=root\n5 4 * * * /bin/by-hand\n# Puppet Name: old\n@daily /bin/old\n")
        assert root.run(["crontab", "/root/tab"]).returncode == 0
    steps = again([PURGE])
    puppets, ours = roots.by_puppet(steps), roots.by_precast(steps)
    hosts = [[event for event in events[0] if event[0] == "Host"] for events in (ours, puppets)]
    assert hosts[0] == hosts[1] == [("Host", "stray.example", "ensure", "removed")]
    assert (ours[1], puppets[1]) == ([], [])
    for path in LINE_FILES[:2]:
        assert meaningful(roots.precast.read(path)) == meaningful(roots.puppet.read(path))


def test_what_there_is_is_printed_as_puppet_prints_it(roots: TwoRoots) -> None:
    kinds = ("host", "cron", "group", "user", "sshkey")
    for root in roots.both():
        root.write("/etc/ssh/ssh_known_hosts", "git.example,git ssh-ed25519 AAAA\n")
    roots.by_precast([LINES[0] + ACCOUNTS[0]])
    printed = roots.listed_by_precast(kinds)
    roots.by_puppet([LINES[0] + ACCOUNTS[0]])
    assert printed == roots.listed_by_puppet(kinds)
    assert "user { 'alice':" in printed


def test_packages_come_out_alike_and_are_told_alike(roots: TwoRoots, tmp_path: Path) -> None:
    for root in roots.both():
        make_repository(root.written("/root/repository"))
        root.write("/etc/apt/sources.list.d/local.list", "deb [trusted=yes] file:/root/repository ./\n")
        script = "cd /etc/apt; rm -f sources.list sources.list.d/*.sources; apt-get update"
        assert root.run(["sh", "-c", script]).returncode == 0
    puppets = roots.by_puppet(again(PACKAGES))
    ours = roots.by_precast(again(PACKAGES))
    assert ours == puppets
    assert changes(puppets) > 0
    assert _packages(roots.precast.read("/var/lib/dpkg/status")) == _packages(roots.puppet.read("/var/lib/dpkg/status"))


def test_services_of_systemd_come_out_alike_and_are_told_alike(roots: TwoRoots) -> None:
    if not Path("/lib/systemd/systemd").exists():
        pytest.skip("needs systemd")
    units = "/usr/lib/systemd/system"
    for name in "abcde":
        text = f"{ALONE}[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n"
        roots.write(f"{units}/pc-{name}.service", text)
    roots.write(f"{units}/pc-static.service", f"{ALONE}[Service]\nExecStart=/bin/sleep 1000\n")
    roots.write(f"{units}/pc-bad.service", f"{ALONE}[Service]\nExecStart=/bin/false\nType=oneshot\n")
    first = "exec { '/usr/bin/systemctl start pc-b pc-c': } -> exec { '/usr/bin/systemctl enable pc-c': }"
    first += " -> exec { '/usr/bin/systemctl mask pc-d': }"
    last = f"exec {{ '/bin/sh -c \"{STATES} > /states\"': }}"
    manifests = [first, *SERVICES, SERVICES[-1], last]
    puppets = roots.by_puppet(manifests, is_booted=True)
    ours = roots.by_precast(manifests, is_booted=True)
    assert ours == puppets
    assert roots.precast.read("/states") == roots.puppet.read("/states")
    assert roots.precast.written("/restarted-d").exists()
    assert not roots.precast.written("/restarted-c").exists()


def test_keys_and_mounts_come_out_alike_and_are_told_alike(roots: TwoRoots) -> None:
    for root in roots.both():
        for name in "xyz":
            root.written(f"/mnt/{name}").mkdir(parents=True)
    puppets = roots.by_puppet(again(KEYS))
    ours = roots.by_precast(again(KEYS))
    assert ours == puppets
    assert changes(puppets) > 0
    for path in KEY_FILES:
        assert meaningful(roots.precast.read(path)) == meaningful(roots.puppet.read(path))
    assert _tree(roots.precast.written("/home")) == _tree(roots.puppet.written("/home"))


def test_services_of_init_scripts_come_out_alike_and_are_told_alike(roots: TwoRoots) -> None:
    for name in ("pc-a", "pc-b"):
        roots.write(f"/etc/init.d/{name}", SCRIPT.format(name=name), 0o755)
    roots.write("/var/lib/pc-b", "")
    puppets = roots.by_puppet(again(SCRIPTS))
    ours = roots.by_precast(again(SCRIPTS))
    assert ours == puppets
    for name in ("pc-a", "pc-b"):
        assert roots.precast.read(f"/var/log/{name}") == roots.puppet.read(f"/var/log/{name}")


def _tree(place: Path) -> list[str]:
    done = subprocess.run(
        ["find", ".", "-printf", "%p %m %U %G %y\n"], cwd=place, capture_output=True, text=True, check=True
    )
    return sorted(done.stdout.splitlines())


def _packages(status: str) -> list[tuple[str, str, str]]:
    found = []
    for part in status.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in part.splitlines())
        if fields.get("Package", "").startswith("pc-"):
            found.append((fields["Package"], fields["Status"], fields["Version"]))
    return sorted(found)
