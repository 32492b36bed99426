"""final_message and phone_home: write the user's message and post the machine's data when a boot has finished."""

import re
import socket
import urllib.parse
from collections.abc import Mapping

from precast import __version__
from precast.boot import downloads
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency, Module, Predecessor, Stage
from precast.boot.modules.hostnames import find_hostname
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Items, Number, Text
from precast.boot.modules.user_commands import SCRIPTS

_VALUES = ("pub_key_rsa", "pub_key_ecdsa", "pub_key_ed25519", "instance_id", "hostname", "fqdn")
_LATE = ("packages", "write_files_deferred", "snap", *SCRIPTS, "precast")


def write_message(context: ModuleContext) -> ModuleOutcome:
    """Write the user's message to the log and the console, with cloud-init's variables substituted."""
    variables = {
        "UPTIME": _read_uptime(context),
        "TIMESTAMP": f"{context.machine.clock.now():%a, %d %b %Y %H:%M:%S %z}",
        "VERSION": __version__,
        "DATASOURCE": str(context.get_value(Capability.PLATFORM, "none")),
    }
    text = str(context.config["final_message"])
    if text.lstrip().lower().startswith("## template: jinja"):
        from precast.boot.userdata import templates

        body = text.lstrip().partition("\n")[2]
        text = templates.render(body, {**variables, **{name.lower(): value for name, value in variables.items()}}).text
    else:
        text = _substitute(text, variables)
    for line in text.rstrip().splitlines():
        context.log("notice", line)
        context.record_change(f"message: {line}")
    return context.outcome


def _substitute(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{?([A-Za-z_]+)\}?", lambda match: variables.get(match[1].upper(), match[0]), text)


def _read_uptime(context: ModuleContext) -> str:
    content = context.read("/proc/uptime") if not context.machine.root else None
    return content.decode().split()[0] if content else "N/A"


def phone_home(context: ModuleContext) -> ModuleOutcome:
    """Post the requested values to the user's address. Raises UnavailableError BOOT-205 after the last attempt."""
    settings = context.config["phone_home"]
    requested = settings.get("post", "all")
    names = _VALUES if requested == "all" else requested
    form = {name: _find_value(context, name) for name in names if name in _VALUES}
    for name in names:
        if name not in _VALUES:
            context.warn(f"phone_home.post: {name} is not a known value; known values are {', '.join(_VALUES)}")
    url = _substitute(settings["url"], {"INSTANCE_ID": form.get("instance_id") or _find_value(context, "instance_id")})
    context.record_change(f"post {', '.join(form)} to {_redact_url(url)}")
    if not context.is_dry_run:
        data, tries = urllib.parse.urlencode(form).encode(), settings.get("tries", 10)
        try:
            downloads.fetch(url, data=data, tries=tries, timeout_s=5)
        except (OSError, ValueError) as error:
            raise issues.NOT_FETCHED.error(url=_redact_url(url), reason=error) from None
    return context.outcome


def _find_value(context: ModuleContext, name: str) -> str:
    if name == "instance_id":
        return str(context.get_value(Capability.INSTANCE_ID) or "N/A")
    if name in ("hostname", "fqdn"):
        hostname = find_hostname(context)
        known = None if hostname is None else hostname.short if name == "hostname" else hostname.full
        return known or socket.gethostname()
    kind = name.removeprefix("pub_key_")
    return context.read_text(f"/etc/ssh/ssh_host_{kind}_key.pub").strip() or "N/A"


def _redact_url(url: str) -> str:
    """Return an address without its user name, password and query, so that it can be logged."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


MODULES = (
    Module(
        "final_message",
        write_message,
        {"final_message": Text()},
        uses=frozenset({Capability.PLATFORM}),
        stage=Stage.FINAL,
        frequency=Frequency.BOOT,
        after=tuple(Predecessor(name, "the message reports that all other modules have ended") for name in _LATE),
    ),
    Module(
        "phone_home",
        phone_home,
        {
            "phone_home": Fields(
                {"url": Text(), "post": Either(Text(("all",)), Items(Text())), "tries": Number(1, 100)}, ("url",)
            )
        },
        uses=frozenset({Capability.INSTANCE_ID, Capability.HOSTNAME}),
        stage=Stage.FINAL,
        is_repeatable=False,  # the called server may have acted on the call, e.g. restarted the machine
        after=(
            Predecessor("ssh", "the posted public keys are this machine's host keys"),
            Predecessor("hostname", "the posted name is the name that was set"),
            *(Predecessor(name, "the called server may rely on the machine being ready") for name in _LATE),
        ),
    ),
)
