"""The end of a boot: a message, and a call home."""

import re
import socket
import urllib.parse
from collections.abc import Mapping

from precast import __version__
from precast.boot import downloads
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Frequency, Module, Stage
from precast.boot.modules.hostnames import name_of
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Items, Number, Text
from precast.boot.modules.user_commands import SCRIPTS

_POSTS = ("pub_key_rsa", "pub_key_ecdsa", "pub_key_ed25519", "instance_id", "hostname", "fqdn")
_LATE = ("packages", "write_files_deferred", "snap", *SCRIPTS, "precast")


def tell(context: Context) -> Outcome:
    """The user's message, with the words that cloud-init fills in, to the log and the console."""
    words = {
        "UPTIME": _uptime(context),
        "TIMESTAMP": f"{context.machine.clock.now():%a, %d %b %Y %H:%M:%S %z}",
        "VERSION": __version__,
        "DATASOURCE": str(context.value(Capability.PLATFORM, "none")),
    }
    text = str(context.config["final_message"])
    if text.lstrip().lower().startswith("## template: jinja"):
        from precast.boot.userdata import templates

        body = text.lstrip().partition("\n")[2]
        text = templates.render(body, {**words, **{name.lower(): value for name, value in words.items()}}).text
    else:
        text = _filled(text, words)
    for line in text.rstrip().splitlines():
        context.log("notice", line)
        context.changed(f"said: {line}")
    return context.outcome


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\$\{?([A-Za-z_]+)\}?", lambda found: words.get(found[1].upper(), found[0]), text)


def _uptime(context: Context) -> str:
    found = context.read("/proc/uptime") if not context.machine.root else None
    return found.decode().split()[0] if found else "N/A"


def call_home(context: Context) -> Outcome:
    """Post what is asked for to an address of the user's. Raises UnavailableError BOOT-205 after the last try."""
    given = context.config["phone_home"]
    wanted = given.get("post", "all")
    names = _POSTS if wanted == "all" else wanted
    form = {name: _post(context, name) for name in names if name in _POSTS}
    for name in names:
        if name not in _POSTS:
            context.warn(f"phone_home.post: there is no {name}; known are {', '.join(_POSTS)}")
    url = _filled(given["url"], {"INSTANCE_ID": form.get("instance_id") or _post(context, "instance_id")})
    context.changed(f"post {', '.join(form)} to {_without_secret(url)}")
    if not context.is_dry_run:
        try:
            downloads.fetch(url, data=urllib.parse.urlencode(form).encode(), tries=given.get("tries", 10), timeout_s=5)
        except (OSError, ValueError) as error:
            raise issues.NOT_FETCHED.error(url=_without_secret(url), reason=error) from None
    return context.outcome


def _post(context: Context, name: str) -> str:
    if name == "instance_id":
        return str(context.value(Capability.INSTANCE_ID) or "N/A")
    if name in ("hostname", "fqdn"):
        found = name_of(context)
        known = None if found is None else found.short if name == "hostname" else found.full
        return known or socket.gethostname()
    kind = name.removeprefix("pub_key_")
    return context.read_text(f"/etc/ssh/ssh_host_{kind}_key.pub").strip() or "N/A"


def _without_secret(url: str) -> str:
    """An address as it may be told: without a password and without its query."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


MODULES = (
    Module(
        "final_message",
        tell,
        {"final_message": Text()},
        uses=frozenset({Capability.PLATFORM}),
        stage=Stage.FINAL,
        frequency=Frequency.BOOT,
        after=tuple(After(name, "the message says that all else is done") for name in _LATE),
    ),
    Module(
        "phone_home",
        call_home,
        {
            "phone_home": Fields(
                {"url": Text(), "post": Either(Text(("all",)), Items(Text())), "tries": Number(1, 100)}, ("url",)
            )
        },
        uses=frozenset({Capability.INSTANCE_ID, Capability.HOSTNAME}),
        stage=Stage.FINAL,
        after=(
            After("ssh", "the public keys that are posted are those of this machine"),
            After("hostname", "the name that is posted is the one that was set"),
            *(After(name, "who is called may rely on the machine being ready") for name in _LATE),
        ),
    ),
)
