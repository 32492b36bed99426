"""The ssh server: its own keys, who may log in by password, and the keys of the default user and of root.

A machine made from an image must not have the host keys of that image: they are made anew for each instance. Root's keys only tell who
comes to log in as the default user, unless `disable_root` is false.
"""

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from precast.boot.capabilities import Capability
from precast.boot.modules import keys_files, services
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Module, Part, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.people import default_user, people
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Text, Unused
from precast.boot.modules.users import exists
from precast.resources.commands import has_program

KINDS = ("rsa", "ecdsa", "ed25519", "dsa")
_DEFAULT_KINDS = ("rsa", "ecdsa", "ed25519")
_CONFIG = "/etc/ssh/sshd_config"
_OWN = "/etc/ssh/sshd_config.d"
_INCLUDE = re.compile(r"^\s*Include\s+\S*sshd_config\.d/", re.MULTILINE | re.IGNORECASE)


def host_keys(context: Context) -> Outcome:
    """Keys that are given, or new ones. What the image has is removed first, once for an instance."""
    config = context.config
    given = config.get("ssh_keys", {})
    has_ssh = has_program("ssh-keygen", context.machine.root) or context.is_there("/etc/ssh")
    if not has_ssh and not given:
        context.outcome.not_run = "there is no ssh here"
        return context.outcome
    if config.get("ssh_deletekeys", True):
        _delete(context)
    if given:
        _write(context, given)
    elif context.has_programs and has_program("ssh-keygen", context.machine.root):
        _make(context, config.get("ssh_genkeytypes", _DEFAULT_KINDS))
    elif "ssh_genkeytypes" in config:
        context.warn("host keys cannot be made here: there is no ssh-keygen to run")
    elif not context.outcome.changes:
        context.outcome.not_run = "there is no ssh-keygen to run"
    services.reload(context, "ssh", "sshd")
    return context.outcome


def _delete(context: Context) -> None:
    """Those of the image; those that a run of this instance made stay when it is run again."""
    directory = Path(context.machine.path("/etc/ssh"))
    mark = context.instance_directory / "host-keys-deleted"
    if mark.exists():
        return
    for path in sorted(directory.glob("ssh_host_*key*")) if directory.is_dir() else ():
        context.remove(f"/etc/ssh/{path.name}")
    if not context.is_dry_run:
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.touch(mode=0o600)


def _write(context: Context, given: dict[str, str]) -> None:
    for name, content in given.items():
        kind, _, what = name.rpartition("_")
        path = f"/etc/ssh/ssh_host_{kind}_key"
        data = f"{content.strip()}\n".encode()
        if what == "private":
            context.write(path, data, 0o600)
            if f"{kind}_public" not in given:
                _derive(context, path)
        else:
            suffix = ".pub" if what == "public" else "-cert.pub"
            context.write(path + suffix, data)
    kinds = [name.rpartition("_")[0] for name in given if name.endswith("_certificate")]
    for kind in kinds:
        _set_up(context, f"certificate-{kind}", f"HostCertificate /etc/ssh/ssh_host_{kind}_key-cert.pub")


def _set_up(context: Context, name: str, line: str) -> bool:
    """Put a line into the server's configuration; whether it changed. The first word counts, so ours comes first.

    A server that is not installed yet brings its own configuration, and must find none: then the line goes beside it.
    """
    text = context.read_text(_CONFIG)
    if not text or _INCLUDE.search(text):
        return context.write(f"{_OWN}/10-precast-boot-{name}.conf", f"{line}\n".encode(), 0o600)
    return line not in text.splitlines() and context.write(
        _CONFIG, _with_line(text, line).encode(errors="surrogateescape"), _mode(context)
    )


def _mode(context: Context) -> int:
    return Path(context.machine.path(_CONFIG)).stat().st_mode & 0o777


def _with_line(text: str, line: str) -> str:
    """The configuration with a setting changed, or put before the first Match, which ends what holds for all."""
    lines = text.splitlines()
    end = next((at for at, each in enumerate(lines) if each.strip().lower().startswith("match")), len(lines))
    word = line.split()[0]
    is_single = word != "HostCertificate"  # of those there is one for each kind of key
    kept = [each for each in lines[:end] if not (is_single and each.split()[:1] == [word])]
    return "\n".join([*kept, line, *lines[end:]]) + "\n"


def _derive(context: Context, path: str) -> None:
    if not context.has_programs or not has_program("ssh-keygen", context.machine.root):
        context.warn(f"{path}.pub cannot be made here: there is no ssh-keygen to run")
    elif not context.is_dry_run:
        found = context.ask(["ssh-keygen", "-y", "-f", path], is_split=True)
        if found.is_success:
            context.write(f"{path}.pub", found.output.encode())
        else:
            context.warn(f"{path} is no private key that ssh-keygen can read")


def _make(context: Context, kinds: Sequence[str]) -> None:
    for kind in kinds:
        path = f"/etc/ssh/ssh_host_{kind}_key"
        if not context.is_there(path):
            context.make_directories("/etc/ssh")
            done = context.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", path], deadline_s=300)
            if not done.is_success:
                context.warn(f"no key of kind {kind} could be made: {' '.join(done.output.split())}")


def password_login(context: Context) -> Outcome:
    """Whether the server takes passwords."""
    wish = context.config["ssh_pwauth"]
    if wish == "unchanged":
        context.outcome.not_run = "ssh_pwauth is unchanged"
        return context.outcome
    word = "yes" if wish is True else "no"
    if _set_up(context, "passwords", f"PasswordAuthentication {word}"):
        services.reload(context, "ssh", "sshd")
    return context.outcome


def keys(context: Context) -> Outcome:
    """The keys of the configuration and of the source, for the default user; root's tell who that is."""
    config = context.config
    lines = list(config.get("ssh_authorized_keys", []))
    if config.get("allow_public_ssh_keys", True):
        lines += context.value(Capability.PUBLIC_KEYS, ())
    if not lines:
        context.outcome.not_run = "nobody gives keys"
        return context.outcome
    default = default_user(config)
    wanted = people(config)
    has_default = default is not None and any(person.name == default.name for person in wanted)
    if default is not None and has_default:
        keys_files.add(context, default.name, lines)
        instead = default.name
    else:
        instead = wanted[0].name if wanted else "NONE"
    is_closed = config.get("disable_root", True)
    options = config.get("disable_root_opts", keys_files.REDIRECT)
    keys_files.add(context, "root", lines, instead_of=instead if is_closed else "", options=options)
    for person in wanted:
        if person.entry.get("ssh_redirect_user") not in (None, False):
            keys_files.add(context, person.name, lines, instead_of=instead)
    return context.outcome


def parts(config: Config) -> Sequence[Part]:
    found = [Part("host keys", host_keys, keys=("ssh_keys", "ssh_deletekeys", "ssh_genkeytypes"))]
    if "ssh_pwauth" in config:
        found.append(Part("password log-in", password_login, keys=("ssh_pwauth",)))
    waits = tuple(exists(person.name) for person in people(config))
    found.append(Part("keys", functools.partial(keys), waits=waits, keys=("ssh_authorized_keys",)))
    return found


_KEYS = {
    f"{kind}_{what}": Text(is_secret=what == "private")
    for kind in KINDS
    for what in ("private", "public", "certificate")
}
_NOT_TOLD = "host keys and fingerprints are neither published nor printed; phone_home posts them"
MODULES = (
    Module(
        "ssh",
        lambda context: context.outcome,
        {
            "ssh_keys": Fields(_KEYS),
            "ssh_deletekeys": Flag(),
            "ssh_genkeytypes": Items(Text(KINDS)),
            "ssh_authorized_keys": Items(Text(), takes_one=True),
            "allow_public_ssh_keys": Flag(),
            "disable_root": Flag(),
            "disable_root_opts": Text(pattern=r"[^\n]*", called="one line of options"),
            "ssh_pwauth": Either(Flag(), Text(("unchanged",))),
            "ssh_quiet_keygen": Flag(),
            "ssh_publish_hostkeys": Unused(_NOT_TOLD),
            "ssh": Fields({"emit_keys_to_console": Flag()}),
            "no_ssh_fingerprints": Flag(),
            "ssh_key_console_blacklist": Unused(_NOT_TOLD),
            "ssh_fp_console_blacklist": Unused(_NOT_TOLD),
            "authkey_hash": Unused(_NOT_TOLD),
        },
        uses=frozenset({Capability.PUBLIC_KEYS}),
        stage=Stage.NETWORK,
        after=(
            After("bootcmd", "bootcmd comes before everything that configures"),
            After("write_files", "sshd's configuration may be a file of the user's"),
        ),
        is_wanted=lambda _: True,
        parts=parts,
    ),
)
