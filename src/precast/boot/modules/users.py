"""Creates groups and users that do not exist yet; each user is a transition of its own.

All properties apply when an account is created. For an existing account, only its access is changed (password, lock, sudo, keys), so that
user data cannot move a home directory by accident. Passwords are locked unless `lock_passwd` is false.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import InputError
from precast.boot.modules import authorized_keys
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import ROOT_FILES_WRITTEN, Config, Frequency, Module, ModulePart, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Number, Table, Text, Unsupported, ValueSchema
from precast.boot.modules.user_entries import UserEntry, list_user_entries
from precast.resources import accounts, commands

LOCK = "passwd"
_NAME = r"[A-Za-z_][A-Za-z0-9_.@-]{0,62}\$?"
NAME = Text(pattern=_NAME, description="a name of letters and digits that starts with a letter")
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
NAMED = Fields(ENTRY, required=("name",))
GROUPS = Either(
    LIST, Items(Either(LIST, Table(NAMES, keeps_empty=True, keys=NAME))), Table(NAMES, keeps_empty=True, keys=NAME)
)


def format_user_place(name: str) -> str:
    """Return the name of the place that means that a user exists."""
    return f"user:{name} exists"


def split_names(value: Any) -> list[str]:
    """Return the names in a list, a mapping, or a text with commas."""
    names = value.split(",") if isinstance(value, str) else list(value or ())
    return [name.strip() for name in names if name.strip()]


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
    for name in list_groups(context.config):
        context.ensure("group", name, {"ensure": "present"})
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
    return [
        ModulePart(
            user.name,
            functools.partial(make_user, user),
            waits_for=(ROOT_FILES_WRITTEN,),
            provides=(format_user_place(user.name),),
            keys=("users", "user"),
        )
        for user in list_user_entries(config)
    ]


def make_user(user: UserEntry, context: ModuleContext) -> ModuleOutcome:
    """Create an account if it does not exist, and set its password, sudo rules and keys."""
    name, entry = user.name, user.entry
    is_new = accounts.find_user(context.machine, name, is_local=False) is None
    if is_new:
        _make_groups_of_user(context, entry)
        context.ensure("user", name, _build_parameters(context, entry), {"password"})
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
        "shell": _choose_shell(context, entry),
    }
    if entry.get("no_user_group") and parameters["gid"] is None:
        parameters["gid"] = 100
    return {key: value for key, value in parameters.items() if value is not None}


def _choose_shell(context: ModuleContext, entry: Mapping[str, Any]) -> str | None:
    """Return the requested shell, or None if it is not installed: a package may install it later, and the user is still created."""
    shell: str | None = entry.get("shell")
    if shell is None or commands.has_program(shell, context.machine.root):
        return shell
    context.warn(f"the shell {shell} is not installed, so the default shell is used")
    return None


def _set_password_and_lock(context: ModuleContext, name: str, entry: Mapping[str, Any], is_new: bool) -> None:
    """Set the password, and lock it unless `lock_passwd` is false."""
    is_locked = entry.get("lock_passwd", True)
    password_hash = entry.get("hashed_passwd") or (entry.get("passwd") if is_new else None)
    if "plain_text_passwd" in entry and password_hash is None:
        set_password(context, name, entry["plain_text_passwd"], is_hash=False)
    elif password_hash is not None:
        set_password(context, name, password_hash, is_hash=True)
    if is_locked and not context.is_dry_run:
        user = accounts.find_user(context.machine, name, is_local=True)
        if user is not None and not user.password.startswith(("!", "*")):
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
        safe_name = name.replace(".", "_")  # sudo ignores files with a dot in their names
        lines = [f"# Rules for {name}", *(f"{name} {rule}" for rule in rules)]
        _write_sudo_rules(context, f"/etc/sudoers.d/90-precast-{safe_name}", "\n".join(lines) + "\n")
    for rule in entry.get("doas", []):
        if name not in rule.split():
            context.warn(f"users.{name}.doas: the rule {rule!r} does not name {name}, so it is not written")
            continue
        text = context.read_text("/etc/doas.conf")
        if rule not in text.splitlines():
            context.write("/etc/doas.conf", f"{text}{rule}\n".encode(), 0o440)


def _write_sudo_rules(context: ModuleContext, path: str, text: str) -> None:
    """Write a file for sudo. An invalid rule would disable sudo for all users, so visudo checks the file first, if it is installed."""
    context.make_directories("/etc/sudoers.d", 0o750)
    ownership = context.ownership_parameters("root", "root")
    parameters: dict[str, Any] = {"ensure": "file", "content": text, "mode": "0440", **ownership}
    if context.has_programs and commands.has_program("visudo", context.machine.root):
        parameters["validate_cmd"] = "visudo -cf %"
    try:
        context.ensure("file", path, parameters)
    except InputError as error:
        context.warn(f"{path} is not written: {error.message}")


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
            "users": Either(Items(Either(LIST, NAMED)), LIST, Table(USER, keeps_empty=True, keys=NAME)),
            "user": Either(NAME, USER),
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
