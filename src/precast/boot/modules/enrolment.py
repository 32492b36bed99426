"""precast: enrols the machine with its server, sends its facts, and applies the first catalog that is released to it.

Only the server receives the token: it appears on no command line and in no file. A machine that is already enrolled stays the same node.
If the server does not release a catalog within the waiting time, the module warns, and the agent applies the catalog later.
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
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.hostnames import find_hostname
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Fields, Flag, Number, Text
from precast.boot.modules.user_commands import SCRIPTS

_SETTINGS = "/etc/precast/agent.toml"
_WAIT_S = 120
_PAUSE_S = 2.0
_APPLY_S = 3600.0
# A run that changed something exits with 2 if detailed exit codes are requested.
_SUCCESS_CODES = (0, 2)
_PYTHON_VARIABLES = ("PYTHONPATH", "VIRTUAL_ENV", "PATH")


def run(context: ModuleContext) -> ModuleOutcome:
    settings = context.config["precast"]
    name = settings.get("name") or _find_node_name(context)
    url = settings["server"]
    credentials = Credentials(context.root)
    if credentials.certificate.exists():
        context.log("info", f"{name} is already enrolled")
    elif not _enrol(context, settings, url, name):
        return context.outcome
    if not context.exists(_SETTINGS):
        context.write(_SETTINGS, f'url = "{url}"\n'.encode())
    if context.is_dry_run or not settings.get("apply", True):
        return context.outcome
    _apply_first_catalog(context, url, settings)
    if not context.machine.root and context.exists("/usr/lib/systemd/system/precast-agent.service"):
        context.run(["systemctl", "enable", "--now", "--no-block", "precast-agent.service"], deadline_s=60)
    return context.outcome


def _find_node_name(context: ModuleContext) -> str:
    hostname = find_hostname(context)
    return (hostname.full if hostname is not None else socket.getfqdn()).lower()


def _enrol(context: ModuleContext, settings: Mapping[str, Any], url: str, name: str) -> bool:
    """Request a certificate. Returns whether the machine is enrolled now. Raises PrecastError, as enrolment does."""
    token, fingerprint = settings.get("token"), settings.get("ca_fingerprint")
    if token is None and fingerprint is None:
        context.warn("precast: lacks token (or ca_fingerprint, for a request that an operator signs)")
        return False
    context.record_change(f"enrol as {name} with {url}")
    if context.is_dry_run:
        return True
    from precast.agent.identity.enrolment import (
        Identity,  # cryptography is slow to import, and most boots do not use it
    )

    identity = Identity(context.root)
    if token is not None:
        identity.enrol(url, token, name)
        return True
    digest = parse_fingerprint(str(fingerprint))
    if digest is None:
        raise issues.BAD_FINGERPRINT.error(fingerprint=fingerprint)
    _retry(lambda: identity.request(url, digest, name), settings.get("wait", _WAIT_S))
    return True


def _retry(request: Any, wait_s: float) -> None:
    """Retry temporary errors until the waiting time has passed. Raises the last error."""
    until_s = time.monotonic() + wait_s
    while True:
        try:
            request()
        except PrecastError as error:
            if not error.consequence.retry or time.monotonic() >= until_s:
                raise
        else:
            return
        time.sleep(_PAUSE_S)


def _apply_first_catalog(context: ModuleContext, url: str, settings: Mapping[str, Any]) -> None:
    """Send facts, wait for a catalog and apply it. Each step runs one of the agent's commands in a process of its own."""
    _run_agent(context, ["facts", "--url", url])
    until_s = time.monotonic() + settings.get("wait", _WAIT_S)
    while (code := _try_agent(context, ["fetch", "--url", url])) not in _SUCCESS_CODES:
        if time.monotonic() >= until_s:
            context.warn("precast: no catalog was released in time; the agent will apply one when it is released")
            context.log("warning", f"precast agent fetch ended with exit code {code}")
            return
        time.sleep(_PAUSE_S)
    noop = ["--noop"] if settings.get("noop") else []
    chroot = ["--chroot"] if context.machine.is_chroot else []
    _run_agent(context, ["apply", *noop, *chroot])


def _run_agent(context: ModuleContext, arguments: Sequence[str]) -> None:
    code = _try_agent(context, arguments)
    if code not in _SUCCESS_CODES:
        command = f"precast agent {arguments[0]}"
        raise issues.FAILED.error(command=command, code=code, output="see the log of this boot")


def _try_agent(context: ModuleContext, arguments: Sequence[str]) -> int:
    argv = [sys.executable, "-m", "precast", "agent", *arguments]
    argv += ["--root", str(context.root)] if context.machine.root else []
    variables = {name: os.environ[name] for name in _PYTHON_VARIABLES if name in os.environ}
    options = programs.StartOptions(
        environment={**programs.ENVIRONMENT, **variables}, directory=str(Path("/")), is_joined=True
    )
    context.record_change(f"run precast agent {arguments[0]}")
    result = programs.run(argv, _APPLY_S, 1 << 20, options)
    for line in result.out.decode(errors="replace").splitlines():
        context.log("info", line)
    return result.code


MODULES = (
    Module(
        "precast",
        run,
        {
            "precast": Fields(
                {
                    "server": Text(
                        pattern=r"https://\S+", description="the address of a server, such as https://HOST:PORT"
                    ),
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
            Predecessor("hostname", "the node takes the machine's name"),
            Predecessor("ca_certs", "trusted authorities are configured before the machine connects to a server"),
            Predecessor("ntp", "checking certificates needs the correct time"),
            Predecessor("packages", "a catalog and this boot must not install packages at the same time"),
            Predecessor("users", "a catalog may manage users that this boot creates"),
            Predecessor("write_files", "a catalog may manage files that this boot writes"),
            *(Predecessor(name, "the user's commands run first, as in a boot without a server") for name in SCRIPTS),
        ),
    ),
)
