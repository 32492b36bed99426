"""precast: the machine enrols with its server, sends its facts, and applies the first catalog that is released to it.

The token goes to the server alone: it stands on no command line and in no file. A machine that is a node already stays that node. What a
server has not released within the time to wait is left to the agent, and told.
"""

import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.identity.credentials import Credentials
from precast.base import programs
from precast.base.digests import parse_fingerprint
from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.modules import issues, packages
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.hostnames import name_of
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Flag, Number, Text
from precast.boot.modules.user_commands import SCRIPTS

_SETTINGS = "/etc/precast/agent.toml"
_WAIT_S = 120
_PAUSE_S = 2.0
_APPLY_S = 3600.0
# A run that changed something ends with 2 if it is asked for details.
_GOOD = (0, 2)
_PYTHON = ("PYTHONPATH", "VIRTUAL_ENV", "PATH")


def run(context: Context) -> Outcome:
    given = context.config["precast"]
    name = given.get("name") or _own_name(context)
    url = given["server"]
    credentials = Credentials(context.root)
    if credentials.certificate.exists():
        context.log("info", f"{name} is enrolled already")
    elif not _enrol(context, given, url, name):
        return context.outcome
    if not context.is_there(_SETTINGS):
        context.write(_SETTINGS, f'url = "{url}"\n'.encode())
    if context.is_dry_run or not given.get("apply", True):
        return context.outcome
    _first_run(context, url, given)
    if not context.machine.root and context.is_there("/usr/lib/systemd/system/precast-agent.service"):
        context.run(["systemctl", "enable", "--now", "--no-block", "precast-agent.service"], deadline_s=60)
    return context.outcome


def _own_name(context: Context) -> str:
    found = name_of(context)
    return (found.full if found is not None else socket.getfqdn()).lower()


def _enrol(context: Context, given: Mapping[str, Any], url: str, name: str) -> bool:
    """Ask for a certificate; whether there is one now. Raises PrecastError, as enrolment does."""
    token, fingerprint = given.get("token"), given.get("ca_fingerprint")
    if token is None and fingerprint is None:
        context.warn("precast: lacks token (or ca_fingerprint, for a request that an operator signs)")
        return False
    context.changed(f"enrol as {name} with {url}")
    if context.is_dry_run:
        return True
    from precast.agent.identity.enrolment import Identity  # cryptography is large, and most boots have no need of it

    identity = Identity(context.root)
    if token is not None:
        identity.enrol(url, token, name)
        return True
    digest = parse_fingerprint(str(fingerprint))
    if digest is None:
        raise issues.BAD_FINGERPRINT.error(fingerprint=fingerprint)
    _patiently(lambda: identity.request(url, digest, name), given.get("wait", _WAIT_S))
    return True


def _patiently(do: Any, wait_s: float) -> None:
    """Try again while an error may pass, until the time is over. Raises the last one."""
    until_s = time.monotonic() + wait_s
    while True:
        try:
            do()
        except PrecastError as error:
            if not error.consequence.retry or time.monotonic() >= until_s:
                raise
        else:
            return
        time.sleep(_PAUSE_S)


def _first_run(context: Context, url: str, given: Mapping[str, Any]) -> None:
    """Send facts, wait for a catalog, apply it: by the agent's own commands, each a process of its own."""
    _agent(context, ["facts", "--url", url])
    until_s = time.monotonic() + given.get("wait", _WAIT_S)
    while (code := _try_agent(context, ["fetch", "--url", url])) not in _GOOD:
        if time.monotonic() >= until_s:
            context.warn("precast: no catalog was released in time; the agent applies it when there is one")
            context.log("warning", f"precast agent fetch ended with {code}")
            return
        time.sleep(_PAUSE_S)
    _agent(
        context,
        ["apply", *(["--noop"] if given.get("noop") else []), *(["--chroot"] if context.machine.is_chroot else [])],
    )


def _agent(context: Context, words: Sequence[str]) -> None:
    code = _try_agent(context, words)
    if code not in _GOOD:
        raise issues.FAILED.error(command=f"precast agent {words[0]}", code=code, output="see the log of this boot")


def _try_agent(context: Context, words: Sequence[str]) -> int:
    argv = [sys.executable, "-m", "precast", "agent", *words]
    argv += ["--root", str(context.root)] if context.machine.root else []
    surroundings = {name: os.environ[name] for name in _PYTHON if name in os.environ}
    options = programs.StartOptions(
        environment={**programs.ENVIRONMENT, **surroundings}, directory=str(Path("/")), is_joined=True
    )
    context.changed(f"run precast agent {words[0]}")
    ended = programs.run(argv, _APPLY_S, 1 << 20, options)
    for line in ended.out.decode(errors="replace").splitlines():
        context.log("info", line)
    return ended.code


MODULES = (
    Module(
        "precast",
        run,
        {
            "precast": Fields(
                {
                    "server": Text(pattern=r"https://\S+", called="the address of a server, as https://HOST:PORT"),
                    "token": Text(is_secret=True),
                    "ca_fingerprint": Text(),
                    "name": Text(),
                    "apply": Flag(),
                    "noop": Flag(),
                    "wait": Number(0, 86_400),
                },
                required=("server",),
            )
        },
        uses=frozenset({Capability.HOSTNAME}),
        locks=packages.LOCKS,
        stage=Stage.FINAL,
        after=(
            After("hostname", "the node is called as the machine is"),
            After("ca_certs", "the machine's trust is set before it speaks to anyone"),
            After("ntp", "certificates are good for a time"),
            After("packages", "a catalog and the user's packages must not be installed at the same time"),
            After("users", "a catalog may manage what this boot makes"),
            After("write_files", "a catalog may manage what this boot writes"),
            *(After(name, "the user's commands come first, as in every boot without a server") for name in SCRIPTS),
        ),
    ),
)
