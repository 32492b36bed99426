"""`precast apply --root DIR --chroot`: everything happens inside another system than the running one."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.overlay import OverlayRoot, why_not

_NOT_HERE = why_not()
pytestmark = [pytest.mark.skipif(_NOT_HERE is not None, reason=_NOT_HERE or ""), pytest.mark.needs("crontab")]

MANIFEST = """
group { 'inside': gid => 4711 }
user { 'inside': uid => 4711, gid => 'inside', managehome => true, password => '$6$a$b' }
host { 'inside.example': ip => '10.0.0.1' }
cron { 'inside': command => '/bin/true', minute => 5, user => 'inside' }
package { 'no-such-package': ensure => absent }
service { 'inside': ensure => running, start => '/bin/touch /started', status => '/usr/bin/test -e /started',
  provider => base }
exec { '/usr/bin/id -un > /who': user => 'inside', provider => shell, cwd => '/home/inside', umask => '022',
  creates => '/home/inside/never' }
"""
# The system inside is a second copy: it shares only its origin with the first.
SCRIPT = """
set -e
mkdir -p /srv/upper /srv/work /srv/inside
mount -t tmpfs inside /srv
mkdir -p /srv/upper /srv/work /srv/inside
mount -t overlay inner -o lowerdir=/base,upperdir=/srv/upper,workdir=/srv/work /srv/inside
mount -t proc proc /srv/inside/proc
chmod 777 /srv/inside
{precast} apply --json --root /srv/inside {more} /root/site.pp || echo "exit code $?" >&2
cp -a /srv/upper /root/upper
"""


def test_types_that_run_programs_work_inside_the_chroot(tmp_path: Path) -> None:
    root, report = _apply(tmp_path, "--chroot")
    by_ref = {resource["resource"]: resource for resource in report["resources"]}
    assert report["summary"]["failed"] == 0, by_ref
    assert set(by_ref) == {
        "Group[inside]", "User[inside]", "Host[inside.example]", "Cron[inside]", "Service[inside]",
        "Exec[/usr/bin/id -un > /who]",
    }  # fmt: skip
    upper = root.written("/root/upper")
    assert (upper / "who").read_text() == "inside\n"
    assert (upper / "started").exists()
    assert "inside:x:4711:4711:" in (upper / "etc/passwd").read_text()
    assert (upper / "var/spool/cron/crontabs/inside").read_text().endswith("5 * * * * /bin/true\n")
    # The machine outside is unchanged.
    assert "inside" not in root.read("/etc/passwd")
    assert not root.written("/started").exists()


def test_types_that_cannot_be_prefixed_refuse_without_chroot(tmp_path: Path) -> None:
    _, report = _apply(tmp_path, "")
    failed = [resource["resource"] for resource in report["resources"] if resource["status"] == "failed"]
    assert failed == ["Package[no-such-package]", "Service[inside]", "Exec[/usr/bin/id -un > /who]"]


def _apply(tmp_path: Path, more: str) -> tuple[OverlayRoot, dict[str, Any]]:
    tmp_path.chmod(0o755)
    root = OverlayRoot(tmp_path)
    root.write("/root/site.pp", MANIFEST)
    root.write("/root/run.sh", SCRIPT.format(precast=f"{sys.executable} -m precast", more=more))
    done = root.run(["sh", "-c", "mkdir -p /base && mount --bind / /base && sh /root/run.sh > /root/report.json"])
    text = root.read("/root/report.json")
    assert text, done.stdout
    report: dict[str, Any] = json.loads(text)
    return root, report
