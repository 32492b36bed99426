"""Configures the ssh server: its host keys, password login, and the authorized keys of the default user and of root.

Machines from the same image must not share host keys, so each instance gets new ones. Root's authorized keys only print a message that
names the default user, unless `disable_root` is false.
"""

import re
import socket
from collections.abc import Sequence

from precast.boot.capabilities import Capability
from precast.boot.modules import authorized_keys, services
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Module, ModulePart, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Text, Unsupported
from precast.boot.modules.user_entries import find_default_user, list_user_entries
from precast.boot.modules.users import format_user_place
from precast.resources.commands import has_program

KINDS = ("rsa", "ecdsa", "ed25519", "dsa")
_DEFAULT_KINDS = ("rsa", "ecdsa", "ed25519")
_CONFIG = "/etc/ssh/sshd_config"
_CONFIG_DIRECTORY = "/etc/ssh/sshd_config.d"
_INCLUDE = re.compile(r"^\s*Include\s+\S*sshd_config\.d/", re.MULTILINE | re.IGNORECASE)


def set_up_host_keys(context: ModuleContext) -> ModuleOutcome:
    """Write the configured host keys or generate new ones. The image's keys are removed first, once per instance.

    Without ssh it counts as run: keys of an ssh that somebody installs later are not the image's.
    """
    config = context.config
    configured_keys = config.get("ssh_keys", {})
    if not _has_ssh(context) and not configured_keys:
        context.outcome.remark = "ssh is not installed"
        return context.outcome
    if config.get("ssh_deletekeys", True):
        _delete_image_keys(context)
    if configured_keys:
        _write_host_keys(context, configured_keys)
    elif context.has_programs and has_program("ssh-keygen", context.machine.root):
        _generate_host_keys(context, config.get("ssh_genkeytypes", _DEFAULT_KINDS))
    elif "ssh_genkeytypes" in config:
        context.warn("host keys cannot be generated: ssh-keygen is not installed")
    elif not context.outcome.changes:
        context.outcome.remark = "ssh-keygen is not installed"
    services.reload(context, "ssh", "sshd")
    return context.outcome


def _delete_image_keys(context: ModuleContext) -> None:
    """Delete the image's host keys. A second run for the same instance keeps the keys that the first one generated."""
    mark = context.instance_directory / "host-keys-deleted"
    if mark.exists():
        return
    for name in context.list_names("/etc/ssh", "ssh_host_*key*"):
        context.remove(f"/etc/ssh/{name}")
    if not context.is_dry_run:
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.touch(mode=0o600)


def _write_host_keys(context: ModuleContext, keys: dict[str, str]) -> None:
    for name, content in keys.items():
        kind, _, half = name.rpartition("_")
        path = f"/etc/ssh/ssh_host_{kind}_key"
        data = f"{content.strip()}\n".encode()
        if half == "private":
            context.write(path, data, 0o600)
            if f"{kind}_public" not in keys:
                _derive_public_key(context, path)
        else:
            suffix = ".pub" if half == "public" else "-cert.pub"
            context.write(path + suffix, data)
    kinds = [name.rpartition("_")[0] for name in keys if name.endswith("_certificate")]
    for kind in kinds:
        _add_setting(context, f"HostCertificate /etc/ssh/ssh_host_{kind}_key-cert.pub")


def _add_setting(context: ModuleContext, line: str) -> bool:
    """Add a line to the server's configuration. Returns whether it changed.

    sshd uses the first value, so the line goes into the directory that the configuration includes first, to the file of cloud-init: user
    data and site tools edit it by its name. If the server is not installed yet, its package must not find a sshd_config, so the line
    goes there too.
    """
    found = context.read_content(_CONFIG)
    text = "" if found is None else found.data.decode(errors="surrogateescape")
    path, mode = _CONFIG, 0o600 if found is None else found.mode & 0o777
    if not text or _INCLUDE.search(text):
        path, mode = f"{_CONFIG_DIRECTORY}/50-cloud-init.conf", 0o600
        text = context.read_text(path)
    return line not in text.splitlines() and context.write(
        path, _replace_setting(text, line).encode(errors="surrogateescape"), mode
    )


def _replace_setting(text: str, line: str) -> str:
    """Return the configuration with a setting replaced, or added before the first Match, which ends the global settings."""
    lines = text.splitlines()
    end = next((index for index, old in enumerate(lines) if old.strip().lower().startswith("match")), len(lines))
    setting = line.split()[0]
    is_single = setting != "HostCertificate"  # this setting may occur once for each kind of key
    kept = [old for old in lines[:end] if not (is_single and old.split()[:1] == [setting])]
    return "\n".join([*kept, line, *lines[end:]]) + "\n"


def _derive_public_key(context: ModuleContext, path: str) -> None:
    if not context.has_programs or not has_program("ssh-keygen", context.machine.root):
        context.warn(f"{path}.pub cannot be derived: ssh-keygen is not installed")
    elif not context.is_dry_run:
        result = context.query(["ssh-keygen", "-y", "-f", path], is_split=True)
        if result.is_success:
            context.write(f"{path}.pub", result.output.encode())
        else:
            context.warn(f"ssh-keygen cannot read the private key {path}")


def _generate_host_keys(context: ModuleContext, kinds: Sequence[str]) -> None:
    for kind in kinds:
        path = f"/etc/ssh/ssh_host_{kind}_key"
        if not context.exists(path):
            context.make_directories("/etc/ssh")
            comment = f"root@{_find_machine_name(context)}"
            result = context.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", comment, "-f", path], deadline_s=300)
            if not result.is_success:
                context.warn(f"the {kind} host key could not be generated: {' '.join(result.output.split())}")


def _find_machine_name(context: ModuleContext) -> str:
    """Return the name that the comment of a host key shows. Below a root the kernel's name is that of another machine."""
    if not context.machine.root:
        return socket.gethostname()
    return context.read_text("/etc/hostname").strip() or "localhost"


def set_password_login(context: ModuleContext) -> ModuleOutcome:
    """Configure whether the server accepts passwords."""
    setting = context.config["ssh_pwauth"]
    if setting == "unchanged":
        context.outcome.not_run = "ssh_pwauth is unchanged"
        return context.outcome
    value = "yes" if setting is True else "no"
    if _add_setting(context, f"PasswordAuthentication {value}"):
        services.reload(context, "ssh", "sshd")
    return context.outcome


def add_keys(context: ModuleContext) -> ModuleOutcome:
    """Authorize the keys of the configuration and of the data source for the default user; root's keys name that user.

    Every user gets a file for keys, even an empty one: user data appends to it, and its directory must belong to the user.
    """
    config = context.config
    platform_lines = list(context.get_value(Capability.PUBLIC_KEYS, ()))
    lines = list(config.get("ssh_authorized_keys", []))
    if config.get("allow_public_ssh_keys", True):
        lines += platform_lines
    if not lines and not _has_ssh(context):
        context.outcome.remark = "neither the configuration nor the data source has keys"
        return context.outcome
    default = find_default_user(config)
    users = list_user_entries(config)
    login_name = default.name if default is not None else users[0].name if users else "NONE"
    if default is not None:
        authorized_keys.add(context, default.name, lines)
    is_root_disabled = config.get("disable_root", True)
    options = config.get("disable_root_opts", authorized_keys.REDIRECT)
    authorized_keys.add(context, "root", lines, instead_of=login_name if is_root_disabled else "", options=options)
    for user in users:
        is_redirected = user.entry.get("ssh_redirect_user") not in (None, False)
        if is_redirected and not platform_lines:
            context.warn(
                f"users.{user.name}.ssh_redirect_user: the data source has no keys, so there is nothing to redirect"
            )
        authorized_keys.add(context, user.name, platform_lines if is_redirected else (), instead_of=login_name)
    return context.outcome


def _has_ssh(context: ModuleContext) -> bool:
    return has_program("ssh-keygen", context.machine.root) or context.exists("/etc/ssh")


def make_parts(config: Config) -> Sequence[ModulePart]:
    parts = [ModulePart("host keys", set_up_host_keys, keys=("ssh_keys", "ssh_deletekeys", "ssh_genkeytypes"))]
    if "ssh_pwauth" in config:
        parts.append(ModulePart("password log-in", set_password_login, keys=("ssh_pwauth",)))
    places = tuple(format_user_place(user.name) for user in list_user_entries(config))
    parts.append(ModulePart("keys", add_keys, waits_for=places, keys=("ssh_authorized_keys",)))
    return parts


_KEYS = {
    f"{kind}_{half}": Text(is_secret=half == "private")
    for kind in KINDS
    for half in ("private", "public", "certificate")
}
_NOT_PUBLISHED = "Precast neither publishes nor prints host keys and fingerprints; phone_home posts them"
MODULES = (
    Module(
        "ssh",
        lambda context: context.outcome,
        {
            "ssh_keys": Fields(_KEYS),
            "ssh_deletekeys": Flag(),
            "ssh_genkeytypes": Items(Text(KINDS)),
            "ssh_authorized_keys": Items(Text(), accepts_single=True),
            "allow_public_ssh_keys": Flag(),
            "disable_root": Flag(),
            "disable_root_opts": Text(pattern=r"[^\n]*", description="one line of options"),
            "ssh_pwauth": Either(Flag(), Text(("unchanged",))),
            "ssh_quiet_keygen": Flag(),
            "ssh_publish_hostkeys": Unsupported(_NOT_PUBLISHED),
            "ssh": Fields({"emit_keys_to_console": Flag()}),
            "no_ssh_fingerprints": Flag(),
            "ssh_key_console_blacklist": Unsupported(_NOT_PUBLISHED),
            "ssh_fp_console_blacklist": Unsupported(_NOT_PUBLISHED),
            "authkey_hash": Unsupported(_NOT_PUBLISHED),
        },
        uses=frozenset({Capability.PUBLIC_KEYS}),
        stage=Stage.NETWORK,
        after=(
            Predecessor("bootcmd", "bootcmd runs before every module that configures something"),
            Predecessor("hostname", "the comment of a host key contains the machine's name"),
            Predecessor("write_files", "the user's files may contain sshd's configuration"),
        ),
        has_work=lambda _: True,
        parts=make_parts,
    ),
)
