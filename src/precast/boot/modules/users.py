"""Creates groups and users that do not exist yet; each user is a transition of its own.

All properties apply when an account is created. For an existing account, only its access is changed (password, lock, sudo, keys), so that
user data cannot move a home directory by accident. Passwords are locked unless `lock_passwd` is false.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from precast.boot.modules import authorized_keys, sudo_rules
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import ROOT_FILES_WRITTEN, Config, Frequency, Module, ModulePart, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import (
    INVALID,
    Either,
    Fields,
    Finding,
    Flag,
    Items,
    Number,
    Path,
    Table,
    Text,
    Unsupported,
    ValueSchema,
)  # fmt: skip
from precast.boot.modules.user_entries import UserEntry, list_user_entries, split_names
from precast.resources import accounts, commands

LOCK = "passwd"
# What Debian's useradd accepts, but for numbers, which are ids, and for the directories . and .. as parts of paths.
_NAME = r"(?!(?:\.{1,2}|\d+)(?:\s|,|$))[^-+~:,/\s][^:,/\s]{0,62}"
NAME = Text(pattern=_NAME, description="a name of letters and digits, without a colon, comma, slash or blank")
LIST = Text(pattern=rf"\s*({_NAME}\s*(,\s*|$))+", description="names with commas between them")
NAMES = Either(LIST, Items(NAME))
PATH = Text(pattern=r"/[^:\n]*", description="an absolute path")
ENTRY: Mapping[str, ValueSchema] = {
    "name": NAME,
    "gecos": Text(pattern=r"[^:\n]*", description="text without a colon or a line break"),
    "homedir": PATH,
    "primary_group": NAME,
    "groups": Either(LIST, Items(NAME), Table(ValueSchema(), keeps_empty=True, keys=NAME)),
    "selinux_user": Unsupported("map the login in a runcmd with semanage"),
    "lock_passwd": Flag(),
    "inactive": Number(-1),
    "passwd": Text(is_secret=True),
    "hashed_passwd": Text(is_secret=True),
    "plain_text_passwd": Text(is_secret=True),
    "create_groups": Flag(),
    "optional_groups": Flag(),
    "no_create_home": Flag(),
    "no_user_group": Flag(),
    "no_log_init": Unsupported("the login databases are sparse files, so they do not grow"),
    "expiredate": Text(pattern=r"\d{4}-\d{2}-\d{2}", description="a date such as 2030-12-31"),
    "ssh_import_id": Items(Text(), accepts_single=True),
    "ssh_authorized_keys": Either(Items(Text()), Text()),
    "ssh_redirect_user": Either(Flag(), Text()),
    "sudo": Either(Flag(), Items(Text(), accepts_single=True)),
    "doas": Items(Text(), accepts_single=True),
    "shell": PATH,
    "system": Flag(),
    "snapuser": Unsupported("Precast queries no account service; give the user a name and keys"),
    "uid": Number(0, 2**32 - 2),
}
USER = Fields(ENTRY)
CHANGES = Fields(ENTRY, keeps_null=True)  # null removes a property of the image's user


class _ListedUser(Fields):
    """An entry of the list `users`. One without a name changes the default user, which its author may not have meant."""

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        cleaned = super().clean(value, path, findings)
        if not isinstance(cleaned, dict) or "name" in cleaned:
            return cleaned
        if value.get("name") is None:
            consequence = ", so it changes the default user" if cleaned else ""
            findings.append(Finding(path, f"lacks name{consequence}", "add name:", bool(cleaned)))
        return INVALID if value.get("name") is not None or not cleaned else cleaned


LISTED = _ListedUser(ENTRY)
GROUPS = Either(
    LIST, Items(Either(LIST, Table(NAMES, keeps_empty=True, keys=NAME))), Table(NAMES, keeps_empty=True, keys=NAME)
)


def format_user_place(name: str) -> str:
    """Return the name of the place that means that a user exists."""
    return f"user:{name} exists"


# Groups


def list_groups(config: Config) -> dict[str, list[str]]:
    """Return the requested groups with their members."""
    value = config.get("groups")
    groups: dict[str, list[str]] = {}
    for entry in [value] if isinstance(value, dict) else split_names(value) if isinstance(value, str) else value or ():
        if isinstance(entry, dict):
            for name, members in entry.items():
                groups.setdefault(name, []).extend(split_names(members))
        else:
            for name in split_names(entry):
                groups.setdefault(name, [])
    return groups


def make_groups(context: ModuleContext) -> ModuleOutcome:
    """Create the groups, with those members that exist already; `group_members` adds the users of this boot."""
    known = accounts.accounts(context.machine).users
    for name, members in list_groups(context.config).items():
        existing = [member for member in members if member in known]
        context.ensure("group", name, {"ensure": "present", **({"members": existing} if existing else {})})
    return context.outcome


def add_members(context: ModuleContext) -> ModuleOutcome:
    known = accounts.accounts(context.machine).users
    new = {user.name for user in list_user_entries(context.config)} if context.is_dry_run else set()
    for name, members in list_groups(context.config).items():
        missing = [member for member in members if member not in known and member not in new]
        if missing:
            context.warn(f"groups.{name}: these users do not exist: {', '.join(missing)}")
        existing = [member for member in members if member not in missing]
        if existing:
            context.ensure("group", name, {"ensure": "present", "members": existing})
    return context.outcome


# Users


def make_parts(config: Config) -> Sequence[ModulePart]:
    """Return one part for each user. Each waits for the one before, because the order of creation decides the user ids."""
    users = list_user_entries(config)
    places = [ROOT_FILES_WRITTEN, *(format_user_place(user.name) for user in users)]
    return [
        ModulePart(
            user.name,
            functools.partial(make_user, user),
            waits_for=tuple(dict.fromkeys((ROOT_FILES_WRITTEN, earlier))),
            provides=(format_user_place(user.name),),
            keys=("users", "user"),
        )
        for user, earlier in zip(users, places, strict=False)
    ]


def make_user(user: UserEntry, context: ModuleContext) -> ModuleOutcome:
    """Create an account if it does not exist, and set its password, sudo rules and keys."""
    name, entry = user.name, user.entry
    is_new = accounts.find_user(context.machine, name, is_local=False) is None
    if is_new:
        _make_groups_of_user(context, entry)
        context.ensure("user", name, _build_parameters(context, entry), {"password"})
        if _is_shell_missing(context, entry):
            _set_missing_shell(context, name, entry["shell"])
    _set_password_and_lock(context, name, entry, is_new)
    if "inactive" in entry and is_new and not context.is_dry_run:
        accounts.run_tool(context.machine, ["usermod", "-f", str(entry["inactive"]), name])
    _write_privileges(context, name, entry)
    keys = entry.get("ssh_authorized_keys", [])
    if keys:
        authorized_keys.add(context, name, [keys] if isinstance(keys, str) else keys)
    return context.outcome


def _make_groups_of_user(context: ModuleContext, entry: Mapping[str, Any]) -> None:
    """Create the user's groups first; the groups of an image's default user are optional and not created."""
    groups = [*split_names(entry.get("groups")), *split_names(entry.get("primary_group", ""))]
    if entry.get("create_groups", True) and not entry.get("optional_groups"):
        for group in groups:
            context.ensure("group", group, {"ensure": "present"})


def _build_parameters(context: ModuleContext, entry: Mapping[str, Any]) -> dict[str, Any]:
    known = accounts.accounts(context.machine).groups
    groups = split_names(entry.get("groups"))
    if entry.get("optional_groups"):
        groups = [group for group in groups if group in known]
    is_system = entry.get("system", False)
    parameters: dict[str, Any] = {
        "ensure": "present",
        "managehome": not (entry.get("no_create_home") or is_system),
        "system": is_system,
        "membership": "minimum",
        "comment": entry.get("gecos"),
        "home": entry.get("homedir"),
        "uid": entry.get("uid"),
        "gid": entry.get("primary_group"),
        "groups": groups or None,
        "expiry": entry.get("expiredate"),
        "shell": None if _is_shell_missing(context, entry) else entry.get("shell"),
    }
    if entry.get("no_user_group") and parameters["gid"] is None:
        parameters["gid"] = 100
    return {key: value for key, value in parameters.items() if value is not None}


def _is_shell_missing(context: ModuleContext, entry: Mapping[str, Any]) -> bool:
    return "shell" in entry and not commands.has_program(entry["shell"], context.machine.root)


def _set_missing_shell(context: ModuleContext, name: str, shell: str) -> None:
    """Set a shell that is not installed yet: packages are installed after the users are created."""
    context.warn(f"the shell {shell} is not installed; until it is, {name} cannot log in")
    context.record_change(f"User[{name}]: shell set to {shell}")
    if not context.is_dry_run:
        accounts.run_tool(context.machine, ["usermod", "-s", shell, name])
        context.machine.snapshots.forget((accounts.KIND,))


def _set_password_and_lock(context: ModuleContext, name: str, entry: Mapping[str, Any], is_new: bool) -> None:
    """Set the password, and lock it unless `lock_passwd` is false. Of several, the hash wins; `passwd` is only for a new account."""
    if entry.get("hashed_passwd"):
        set_password(context, name, entry["hashed_passwd"], is_hash=True)
    elif entry.get("plain_text_passwd"):
        set_password(context, name, entry["plain_text_passwd"], is_hash=False)
    elif is_new and entry.get("passwd"):
        set_password(context, name, entry["passwd"], is_hash=True)
    if entry.get("lock_passwd", True) and not context.is_dry_run:
        user = accounts.find_user(context.machine, name, is_local=True)
        if user is not None and not user.password.startswith("!"):
            context.ensure("user", name, {"password": f"!{user.password}"}, {"password"})


def set_password(context: ModuleContext, name: str, password: str, *, is_hash: bool) -> None:
    """Set a password from its hash, or from plain text, which chpasswd hashes. It never appears on a command line."""
    if "\n" in password or "\r" in password:
        context.warn(f"the password of {name} contains a line break, so it is not set")
        return
    if is_hash:
        context.ensure("user", name, {"password": password}, {"password"})
        return
    context.record_change(f"User[{name}]: password set")
    if not context.is_dry_run:
        argv = ["chpasswd", "-c", "SHA512"]
        accounts.run_tool(context.machine, argv, stdin=f"{name}:{password}\n".encode())
        context.machine.snapshots.forget((accounts.KIND,))


def _write_privileges(context: ModuleContext, name: str, entry: Mapping[str, Any]) -> None:
    """Write the user's rules for sudo and doas."""
    rules = entry.get("sudo")
    if isinstance(rules, list) and rules:
        sudo_rules.add(context, name, rules)
    for rule in entry.get("doas", []):
        if name not in rule.split():
            context.warn(f"users.{name}.doas: the rule {rule!r} does not name {name}, so it is not written")
            continue
        text = context.read_text("/etc/doas.conf")
        if rule not in text.splitlines():
            context.write("/etc/doas.conf", f"{text}{rule}\n".encode(), 0o440)


MODULES = (
    Module(
        "groups",
        make_groups,
        {"groups": GROUPS},
        locks=(LOCK,),
        stage=Stage.NETWORK,
        frequency=Frequency.INSTANCE,
        after=(Predecessor("bootcmd", "bootcmd runs before every module that configures something"),),
    ),
    Module(
        "users",
        lambda context: context.outcome,
        {
            "users": Either(
                Items(Either(LIST, LISTED)), LIST, Table(Either(Flag(), USER), keeps_empty=True, keys=NAME)
            ),
            "user": Either(NAME, CHANGES),
            "system_info": Fields({"default_user": USER}, others=ValueSchema()),
        },
        locks=(LOCK,),
        stage=Stage.NETWORK,
        after=(
            Predecessor("bootcmd", "bootcmd runs before every module that configures something"),
            Predecessor("groups", "a user becomes a member of existing groups"),
            Predecessor("mounts", "home directories may be on a mounted file system"),
        ),
        has_work=lambda config: bool(list_user_entries(config)),
        parts=make_parts,
    ),
    Module(
        "group_members",
        add_members,
        {"groups": GROUPS},
        locks=(LOCK,),
        stage=Stage.NETWORK,
        after=(Predecessor("groups", "members need the group"), Predecessor("users", "members are users")),
        has_work=lambda config: any(list_groups(config).values()),
    ),
)
