"""ssh_import_id: adds the public keys that people publish at GitHub (`gh:NAME`) or Launchpad (`lp:NAME`, or a bare NAME).

The author of this key trusts that service to decide who may log in. The keys are fetched over TLS, once per instance, and lines of the
response that are not public keys are ignored.
"""

import functools
import re
import urllib.parse
from collections.abc import Mapping, Sequence

from precast.boot import downloads
from precast.boot.modules import authorized_keys, issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Module, ModulePart, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Items, Text
from precast.boot.modules.user_entries import find_default_user, list_user_entries
from precast.boot.modules.users import LOCK, format_user_place

ADDRESSES: Mapping[str, str] = {
    "gh": "https://github.com/{name}.keys",
    "lp": "https://launchpad.net/~{name}/+sshkeys",
}
_NAME = re.compile(r"(?:(gh|lp|gh-enterprise):)?([A-Za-z0-9][A-Za-z0-9._+-]{0,99})")


def list_import_requests(config: Config) -> dict[str, list[str]]:
    """Return, for each user, the published names whose keys the user gets."""
    requests: dict[str, list[str]] = {}
    default = find_default_user(config)
    if default is not None and config.get("ssh_import_id"):
        requests[default.name] = list(config["ssh_import_id"])
    for user in list_user_entries(config):
        if names := user.entry.get("ssh_import_id"):
            requests[user.name] = [*requests.get(user.name, []), *names]
    return requests


def import_keys(user: str, names: Sequence[str], context: ModuleContext) -> ModuleOutcome:
    """Add the keys of each name; a failure for one name does not affect the others. Raises UnavailableError BOOT-203 at the end."""
    failed: list[str] = []
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or (match[1] or "lp") not in ADDRESSES:
            failed.append(f"{name!r} is neither gh:NAME nor lp:NAME")
            continue
        url = ADDRESSES[match[1] or "lp"].format(name=urllib.parse.quote(match[2]))
        change = f"add the keys at {url} for {user}"
        if context.is_dry_run:
            context.record_change(change)
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
        context.record_change(change)
        authorized_keys.add(context, user, lines)
    if failed:
        raise issues.SOME_FAILED.error(what="ssh_import_id", failures="; ".join(failed))
    return context.outcome


def make_parts(config: Config) -> Sequence[ModulePart]:
    return [
        ModulePart(user, functools.partial(import_keys, user, names), waits_for=(format_user_place(user),))
        for user, names in list_import_requests(config).items()
    ]


MODULES = (
    Module(
        "ssh_import_id",
        lambda context: context.outcome,
        {"ssh_import_id": Items(Text(), accepts_single=True)},
        locks=(LOCK,),
        after=(
            Predecessor("ssh", "both modules write authorized_keys files"),
            Predecessor("ca_certs", "the service's certificate may come from the user's own authority"),
            Predecessor("resolv_conf", "the module resolves names of servers"),
        ),
        has_work=lambda config: bool(list_import_requests(config)),
        parts=make_parts,
    ),
)
