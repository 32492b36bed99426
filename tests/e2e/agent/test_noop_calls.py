"""Runs every type in no-op under strace: no system call changes anything outside of the agent's own state.

It runs in a copy of this machine, with systemd, because a no-op that changes something must not damage the real one. The same catalog is
then applied without no-op under the same filter, which proves that the filter sees changes.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.overlay import OverlayRoot, why_not
from lab.strace_log import Call, read_calls
from precast.resources import registry

REASON = why_not()
STATE = "/var/lib/precast"
CHANGING = (
    "rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,"
    "chown,fchown,lchown,fchownat,truncate,ftruncate,fallocate,utime,utimes,utimensat,futimesat,mknod,mknodat,setxattr,lsetxattr,"
    "fsetxattr,removexattr,lremovexattr,fremovexattr,mount,umount2,sethostname,settimeofday,clock_settime,swapon,swapoff"
)
WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
# The agent's own state, paths that are not files, and files without a name, which receive a command's output. strace shows the paths.
HARMLESS = re.compile(rf'{STATE}(/|"|>)|"/dev/(null|tty|zero)"|O_TMPFILE|<(pipe|socket|anon_inode|UNIX|TCP|NETLINK)')

Parameters = dict[str, Any]

# Type, title, parameters, and whether it differs from the current state (None: it depends on the machine).
CASES: list[tuple[str, str, Parameters, bool | None]] = [
    ("File", "/etc/new", {"content": "x\n", "owner": "daemon", "mode": "0600", "validate_cmd": "/usr/bin/touch %"}, True),
    ("File", "/etc/hostname", {"content": "other\n", "backup": "puppet"}, True),
    ("File", "/etc/issue", {"mode": "u=rw,go=", "group": "daemon"}, True),
    ("File", "/etc/debian_version", {"ensure": "absent", "backup": ".bak"}, True),
    ("File", "/etc/skel", {"ensure": "directory", "recurse": True, "purge": True, "force": True}, True),
    ("File", "/etc/copied", {"source": "/etc/apt", "recurse": True}, True),
    ("File", "/etc/link", {"ensure": "link", "target": "nowhere"}, True),
    ("File", "/etc/opt", {"ensure": "link", "target": "nowhere", "force": True}, True),
    ("File_line", "line", {"path": "/etc/passwd", "line": "# a line", "match": "^#"}, True),
    ("Ini_setting", "setting", {"path": "/etc/new.ini", "section": "s", "setting": "a", "value": "1"}, True),
    ("Concat_fragment", "part", {"target": "/etc/whole", "content": "x"}, False),
    ("Concat_file", "/etc/whole", {"tag": "whole"}, True),
    ("Exec", "run", {"command": "/usr/bin/touch /ran", "unless": "/bin/false", "onlyif": "/bin/true"}, True),
    ("Exec", "refreshed", {"command": "/usr/bin/touch /refreshed", "refreshonly": True, "subscribe": "File[/etc/new]"}, True),
    ("Cron", "job", {"command": "/bin/true", "user": "root", "minute": 5}, True),
    ("Host", "new.example.com", {"ip": "192.0.2.7"}, True),
    ("Group", "newgroup", {"ensure": "present", "gid": 4242}, True),
    ("User", "newuser", {"ensure": "present", "managehome": True, "uid": 4242}, True),
    ("User", "games", {"ensure": "absent"}, True),
    ("Mount", "/mnt", {"ensure": "mounted", "device": "tmpfs", "fstype": "tmpfs", "options": "defaults"}, True),
    ("Package", "nano-of-tomorrow", {"ensure": "present", "provider": "apt"}, True),
    ("Package", "bash", {"ensure": "latest", "provider": "apt"}, None),
    ("Package", "base-files", {"ensure": "absent", "provider": "apt"}, True),
    ("Service", "watched", {"ensure": "running", "enable": True}, True),
    ("Ssh_authorized_key", "me", {"user": "root", "type": "ssh-ed25519", "key": "AAAAC3NzaC1lZDI1NTE5AAAAIA=="}, True),
    ("Sshkey", "new.example.com", {"type": "ssh-ed25519", "key": "AAAAC3NzaC1lZDI1NTE5AAAAIA=="}, True),
    ("Resources", "host", {"purge": True}, False),
    ("Notify", "said", {"message": "hello"}, True),
    ("Promise", "given", {"value": "x"}, True),
    ("Schedule", "night", {"range": "2 - 4"}, False),
    ("Filebucket", "main", {}, False),
    ("Anchor", "here", {}, False),
    ("Augeas", "tree", {"context": "/files/etc/hosts", "changes": "set 1/ipaddr 192.0.2.8"}, True),
    ("Archive", "/srv/new.tar", {"source": "/etc/hostname", "extract": True, "extract_path": "/srv"}, True),
    ("Yumrepo", "new", {"baseurl": "https://example.com/repo"}, True),
    ("Alternatives", "awk", {"path": "/bin/true"}, True),
    ("Alternative_entry", "/bin/true", {"altlink": "/usr/bin/new", "altname": "new", "priority": 1}, True),
    ("Ssl_pkey", "/etc/ssl/private/new.key", {"ensure": "present"}, True),
    ("X509_cert", "/etc/ssl/new.crt", {"ensure": "present"}, True),
    ("X509_request", "/etc/ssl/new.csr", {"ensure": "present"}, True),
    ("Datacat_fragment", "data", {"target": "whole", "data": {"a": "x\n"}}, False),
    ("Datacat_collector", "whole", {"target_resource": "File[/etc/new]", "target_field": "content", "source_key": "a"}, False),
    ("Apt_key", "A" * 40, {"ensure": "present"}, True),
    ("Mailalias", "someone", {"recipient": "root"}, True),
    ("Sysctl", "vm.new", {"val": "1"}, True),
    ("Sysctl_runtime", "kernel.domainname", {"val": "example.org"}, True),
    ("Ini_subsetting", "item", {"path": "/etc/new.ini", "section": "s", "setting": "a", "subsetting": "b"}, True),
    ("Tidy", "/etc/skel", {"recurse": 1, "matches": ".*"}, True),
    # Whether they differ depends on servers that may run here; a check that reaches none fails, and changes nothing either.
    ("Postgresql_psql", "SELECT 1", {"psql_path": "/usr/bin/psql", "psql_user": "root", "psql_group": "root"}, None),
    ("Mysql_user", "someone@localhost", {"password_hash": "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29"}, None),
    ("Mysql_grant", "someone@localhost/*.*", {"privileges": ["ALL"], "table": "*.*", "user": "someone@localhost"}, None),
    ("Mysql_database", "new", {"charset": "utf8mb4", "collate": "utf8mb4_general_ci"}, None),
    ("Rabbitmq_plugin", "rabbitmq_management", {}, None),
    ("Rabbitmq_vhost", "new", {}, None),
]  # fmt: skip


def catalog() -> str:
    resources: list[Parameters] = [{"type": "Stage", "title": "main"}, {"type": "Class", "title": "main"}]
    resources += [
        {"type": kind, "title": title, "parameters": given, "kind": "compilable_type"}
        for kind, title, given, _ in CASES
    ]
    edges = [{"source": "Stage[main]", "target": "Class[main]"}]
    edges += [{"source": "Class[main]", "target": f"{kind}[{title}]"} for kind, title, _, _ in CASES]
    return json.dumps({"resources": resources, "edges": edges, "catalog_format": 2})


def applied(root: OverlayRoot, *options: str) -> tuple[dict[str, str], list[Call]]:
    """Run the catalog under strace. Returns the status of each resource, and the system calls that change something."""
    root.write("/root/catalog.json", catalog())
    root.write(
        "/etc/systemd/system/watched.service",
        "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/sleep 99\n[Install]\nWantedBy=multi-user.target\n",
    )
    trace = "strace -f -qq -y -s 300 --seccomp-bpf -o /root/trace"
    precast = f"{sys.executable} -m precast apply --catalog /root/catalog.json --json {' '.join(options)}"
    script = f"export PYTHONDONTWRITEBYTECODE=1; {trace} -e trace=open,openat,creat,{CHANGING} {precast} > /root/report"
    said = root.run_booted(["sh", "-c", script]).stdout
    report = root.read("/root/report")
    assert report, said
    statuses = {resource["resource"]: resource["status"] for resource in json.loads(report)["resources"]}
    return statuses, [call for call in read_calls(root.written("/root/trace")) if is_change(call)]


def is_change(call: Call) -> bool:
    if call.name in ("open", "openat") and not WRITING.search(call.args):
        return False
    return not HARMLESS.search(call.args)


def test_every_type_has_a_case() -> None:
    assert {kind.lower() for kind, *_ in CASES} == set(registry.names())


@pytest.mark.needs("strace")
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.skipif(not Path("/lib/systemd/systemd").exists(), reason="needs systemd")
def test_noop_of_every_type_changes_nothing(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path / "copy")
    statuses, calls = applied(root, "--noop")
    expected = {
        f"{kind}[{title}]": "noop" if differs else "unchanged"
        for kind, title, _, differs in CASES
        if differs is not None
    }
    assert {ref: statuses.get(ref, "unchanged") for ref in expected} == expected
    assert [f"{call.name}({call.args})" for call in calls] == []


@pytest.mark.needs("strace")
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.skipif(not Path("/lib/systemd/systemd").exists(), reason="needs systemd")
def test_same_catalog_without_noop_is_seen_to_change_things(tmp_path: Path) -> None:
    statuses, calls = applied(OverlayRoot(tmp_path / "copy"))
    assert statuses["File[/etc/new]"] == "changed"
    seen = " ".join(call.args for call in calls)
    paths = ("/etc/new", "/etc/passwd", "/etc/hosts", "/etc/fstab", "/ran", "/etc/ssh/ssh_known_hosts", "/root/.ssh")
    assert [path for path in paths if path not in seen and f'"{path.rpartition("/")[2]}"' not in seen] == []
    assert any(call.name == "chmod" and "/proc/self/fd/" in call.args for call in calls), "a mode in place"
    assert len(calls) > 50
