"""ssh_import_id: keys of people who publish them, at GitHub (`gh:NAME`) or Launchpad (`lp:NAME`, or a bare NAME).

Whoever writes it trusts that service to say who may log in. It is asked over TLS, once for an instance, and what it says counts only as
far as it is public keys.
"""

import functools
import re
import urllib.parse
from collections.abc import Mapping, Sequence

from precast.boot import downloads
from precast.boot.modules import issues, keys_files
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Module, Part
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.people import default_user, people
from precast.boot.modules.shapes import Items, Text
from precast.boot.modules.users import LOCK, exists

ADDRESSES: Mapping[str, str] = {
    "gh": "https://github.com/{name}.keys",
    "lp": "https://launchpad.net/~{name}/+sshkeys",
}
_NAME = re.compile(r"(?:(gh|lp|gh-enterprise):)?([A-Za-z0-9][A-Za-z0-9._+-]{0,99})")


def wishes(config: Config) -> dict[str, list[str]]:
    """Users, and whose keys each of them gets."""
    found: dict[str, list[str]] = {}
    default = default_user(config)
    if default is not None and config.get("ssh_import_id"):
        found[default.name] = list(config["ssh_import_id"])
    for person in people(config):
        if names := person.entry.get("ssh_import_id"):
            found[person.name] = [*found.get(person.name, []), *names]
    return found


def add(user: str, names: Sequence[str], context: Context) -> Outcome:
    """One whose keys cannot be had does not cost the others. Raises UnavailableError BOOT-203 at the end."""
    failed: list[str] = []
    for name in names:
        found = _NAME.fullmatch(name)
        if found is None or (found[1] or "lp") not in ADDRESSES:
            failed.append(f"{name!r} is neither gh:NAME nor lp:NAME")
            continue
        url = ADDRESSES[found[1] or "lp"].format(name=urllib.parse.quote(found[2]))
        told = f"add the keys at {url} for {user}"
        if context.is_dry_run:
            context.changed(told)
            continue
        try:
            text = downloads.fetch(url).decode(errors="replace")
        except (OSError, ValueError) as error:
            failed.append(f"{url} cannot be fetched: {error}")
            continue
        lines = [f"{line.strip()} # ssh-import-id {name}" for line in text.splitlines() if line.strip()]
        if not lines:
            context.warn(f"{name} publishes no keys")
            continue
        context.changed(told)
        keys_files.add(context, user, lines)
    if failed:
        raise issues.SOME_FAILED.error(what="ssh_import_id", failures="; ".join(failed))
    return context.outcome


def parts(config: Config) -> Sequence[Part]:
    return [
        Part(user, functools.partial(add, user, names), waits=(exists(user),)) for user, names in wishes(config).items()
    ]


MODULES = (
    Module(
        "ssh_import_id",
        lambda context: context.outcome,
        {"ssh_import_id": Items(Text(), takes_one=True)},
        locks=(LOCK,),
        after=(
            After("ssh", "both write files of keys"),
            After("ca_certs", "the service may be behind an authority of the user's own"),
            After("resolv_conf", "names of servers are looked up"),
        ),
        is_wanted=lambda config: bool(wishes(config)),
        parts=parts,
    ),
)
