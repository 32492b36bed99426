"""Observes a machine after its boot: every changed path, and the settings that several files together decide.

A file is observed as kind, mode, owner and content. What is random (keys, salts), what is a date, and what each program writes about itself
is left out or replaced, so that equal machines have equal observations.
"""

import os
import re
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

# One line of text per observation: a path or a named setting, and its value.
Observations = dict[str, str]

# Each program's own state, logs, caches, and backup copies of account files.
_IGNORED = re.compile(
    r"(var/lib/(cloud|precast|apt|dpkg|ucf|systemd|pam|sudo)|var/cache|run|proc|sys|dev|work|srv/repo|root/\.pyenv|etc/precast|root/\.gnupg)(/|$)|"
    r"var/log/(cloud-init.*|apt|dpkg\.log|alternatives\.log|precast.*|lastlog|faillog|wtmp|btmp)(/|$)|"
    r"etc/(passwd|shadow|group|gshadow|subuid|subgid)-$|etc/cloud/|etc/\.pwd\.lock$|(root|tmp|var/tmp)/?$|"
    r"usr/lib/python3|.*/__pycache__|etc/ssl/certs/|etc/ca-certificates/|usr/lib/locale/|etc/mailcap$|tmp/tmp[^/]*$"
)
# Files whose settings are observed through the program that reads them.
_SETTINGS = re.compile(r"etc/(sudoers\.d|ssh/sshd_config|apt/apt\.conf\.d/|apt/sources\.list)")
_KEY = re.compile(r"etc/ssh/ssh_host_\w+_key(\.pub)?$")
_COMMANDS = {
    "sshd": "mkdir -p /run/sshd; sshd -T 2>&1 | sort",
    "apt settings": "apt-config dump | sort",
    "package sources": "cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^ *#' | sed '/^ *$/d' | sort",
    "packages": "dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n' | sort",
    "sudo rules": "cat /etc/sudoers /etc/sudoers.d/[!R]* 2>/dev/null | grep -v '^#[^i]' | sed '/^ *$/d' | sort -u",
    "sudo modes": "stat -c '%A' /etc/sudoers.d; stat -c '%A %U:%G' /etc/sudoers.d/[!R]* 2>/dev/null | sort -u",
    "certificate authorities": "ls /etc/ssl/certs | wc -l",
    "host name": "uname -n",
}


def observe(root: Path, upper: Path) -> Observations:
    """Return the observations of a booted machine: changed paths, and the output of commands about its settings."""
    seen: Observations = {}
    for place, directories, names in os.walk(upper):
        for name in (*directories, *names):
            path = str((Path(place) / name).relative_to(upper))
            if not _IGNORED.match(path) and not _SETTINGS.match(path):
                seen[path] = describe(root, path)
    for name, command in _COMMANDS.items():
        done = subprocess.run(
            ["chroot", root, "sh", "-c", command], capture_output=True, text=True, errors="replace", check=False
        )
        seen[f"({name})"] = done.stdout
    return seen


def describe(root: Path, path: str) -> str:
    """Describe what is at a path below a root."""
    place = root / path
    try:
        status = place.lstat()
    except OSError:
        return "absent"
    kind = stat.filemode(status.st_mode)
    head = f"{kind} {status.st_uid}:{status.st_gid}"
    if stat.S_ISLNK(status.st_mode):
        return f"{head} -> {place.readlink()}"
    if not stat.S_ISREG(status.st_mode):
        return head
    data = place.read_bytes() if status.st_size < 1 << 20 else b"(large)"
    return f"{head}\n{_normalise(path, data.decode(errors='replace'))}"


def _normalise(path: str, text: str) -> str:
    if path == "etc/shadow":
        return "\n".join(_normalise_shadow(line) for line in text.splitlines())
    if match := _KEY.match(path):
        words = text.split(" ", 2)
        return f"{words[0]} KEY {words[2] if len(words) > 2 else ''}" if match[1] else "KEY"
    if path == "etc/hosts":
        return _without_comments(" ".join(dict.fromkeys(line.split())) for line in text.splitlines())
    if path == "etc/fstab":
        return _without_comments("\t".join(_without_mark(line.split())) for line in text.splitlines())
    if path.startswith("etc/rsyslog.d/"):
        return _without_comments(text.splitlines())
    if path == "etc/default/locale":
        return _without_comments(line.replace('"', "") for line in text.splitlines())
    if path.endswith(".ssh/authorized_keys"):
        return "\n".join(sorted(text.splitlines()))
    if path in ("etc/machine-id", "etc/apt/trusted.gpg~"):
        return "RANDOM"
    return text


def _without_comments(lines: Iterable[str]) -> str:
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _without_mark(words: list[str]) -> list[str]:
    """A line of fstab without the option by which cloud-init finds its own lines again."""
    if len(words) > 3:
        words[3] = ",".join(
            option for option in words[3].split(",") if not option.startswith(("comment=", "x-precast"))
        )
    return words


def _normalise_shadow(line: str) -> str:
    fields = line.split(":")
    fields[1] = re.sub(r"^(!*)\$(\w+)\$.*", r"\1HASH", fields[1])
    fields[2] = fields[2] if fields[2] in ("", "0") else "DAY"
    return ":".join(fields)
