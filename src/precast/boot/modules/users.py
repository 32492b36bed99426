"""Groups and users: created if they are not there, each user a transition of its own.

What is wanted of an account is wanted when it is made. Of one that is there already only what opens or closes it is changed (password,
lock, sudo, keys), so that user data cannot move somebody's home directory by accident. Passwords are closed unless somebody says otherwise.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import InputError
from precast.boot.modules import keys_files
from precast.boot.modules.context import Context
from precast.boot.modules.contract import FILES_OF_ROOT, After, Config, Frequency, Module, Part, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.people import Person, people
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Number, Shape, Table, Text, Unused
from precast.resources import accounts, commands

LOCK = "passwd"
_NAME = r"[A-Za-z_][A-Za-z0-9_.@-]{0,62}\$?"
NAME = Text(pattern=_NAME, called="a name of letters and digits that begins with a letter")
LIST = Text(pattern=rf"\s*({_NAME}\s*(,\s*|$))+", called="names with commas between them")
NAMES = Either(LIST, Items(NAME))
PATH = Text(pattern=r"/[^:\n]*", called="an absolute path")
ENTRY: Mapping[str, Shape] = {
    "name": NAME,
    "gecos": Text(pattern=r"[^:\n]*", called="text without a colon or a line break"),
    "homedir": PATH,
    "primary_group": NAME,
    "groups": Either(LIST, Items(NAME), Table(Shape(), keeps_empty=True, keys=NAME)),
    "selinux_user": Unused("map the login in a runcmd with semanage"),
    "lock_passwd": Flag(),
    "inactive": Number(-1),
    "passwd": Text(is_secret=True),
    "hashed_passwd": Text(is_secret=True),
    "plain_text_passwd": Text(is_secret=True),
    "create_groups": Flag(),
    "optional_groups": Flag(),
    "no_create_home": Flag(),
    "no_user_group": Flag(),
    "no_log_init": Unused("the login databases are sparse files today"),
    "expiredate": Text(pattern=r"\d{4}-\d{2}-\d{2}", called="a date as 2030-12-31"),
    "ssh_import_id": Items(Text(), takes_one=True),
    "ssh_authorized_keys": Either(Items(Text()), Text()),
    "ssh_redirect_user": Either(Flag(), Text()),
    "sudo": Either(Flag(), Items(Text(), takes_one=True)),
    "doas": Items(Text(), takes_one=True),
    "shell": PATH,
    "system": Flag(),
    "snapuser": Unused("there is no account service to ask; give the user a name and keys"),
    "uid": Number(0, 2**32 - 2),
}
USER = Fields(ENTRY)
NAMED = Fields(ENTRY, required=("name",))
GROUPS = Either(
    LIST, Items(Either(LIST, Table(NAMES, keeps_empty=True, keys=NAME))), Table(NAMES, keeps_empty=True, keys=NAME)
)


def exists(name: str) -> str:
    """The place that says so."""
    return f"user:{name} exists"


def names_in(value: Any) -> list[str]:
    """Names, given as a list, a mapping, or a text with commas."""
    found = value.split(",") if isinstance(value, str) else list(value or ())
    return [name.strip() for name in found if name.strip()]


# Groups


def wanted_groups(config: Config) -> dict[str, list[str]]:
    """Groups with their members."""
    given = config.get("groups")
    found: dict[str, list[str]] = {}
    for each in [given] if isinstance(given, dict) else names_in(given) if isinstance(given, str) else given or ():
        if isinstance(each, dict):
            for name, members in each.items():
                found.setdefault(name, []).extend(names_in(members))
        else:
            for name in names_in(each):
                found.setdefault(name, [])
    return found


def make_groups(context: Context) -> Outcome:
    for name in wanted_groups(context.config):
        context.ensure("group", name, {"ensure": "present"})
    return context.outcome


def add_members(context: Context) -> Outcome:
    known = accounts.accounts(context.machine).users
    new = {person.name for person in people(context.config)} if context.is_dry_run else set()
    for name, members in wanted_groups(context.config).items():
        missing = [member for member in members if member not in known and member not in new]
        if missing:
            context.warn(f"groups.{name}: there is no user {', '.join(missing)}")
        here = [member for member in members if member not in missing]
        if here:
            context.ensure("group", name, {"ensure": "present", "members": here})
    return context.outcome


# Users


def parts(config: Config) -> Sequence[Part]:
    return [
        Part(
            person.name,
            functools.partial(make_user, person),
            waits=(FILES_OF_ROOT,),
            gives=(exists(person.name),),
            keys=("users", "user"),
        )
        for person in people(config)
    ]


def make_user(person: Person, context: Context) -> Outcome:
    """Make one account, and what opens it."""
    name, entry = person.name, person.entry
    is_new = accounts.find_user(context.machine, name, is_local=False) is None
    if is_new:
        _groups_of(context, name, entry)
        context.ensure("user", name, _parameters(context, name, entry), {"password"})
    _close(context, name, entry, is_new)
    if "inactive" in entry and is_new and not context.is_dry_run:
        accounts.run_tool(context.machine, ["usermod", "-f", str(entry["inactive"]), name])
    _allow(context, name, entry)
    keys = entry.get("ssh_authorized_keys", [])
    if keys:
        keys_files.add(context, name, [keys] if isinstance(keys, str) else keys)
    return context.outcome


def _groups_of(context: Context, name: str, entry: Mapping[str, Any]) -> None:
    """Groups that must be there before; those of an image's default user are not made, only used if they are there."""
    wanted = [*names_in(entry.get("groups")), *names_in(entry.get("primary_group", ""))]
    if entry.get("create_groups", True) and not entry.get("optional_groups"):
        for group in wanted:
            context.ensure("group", group, {"ensure": "present"})


def _parameters(context: Context, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    known = accounts.accounts(context.machine).groups
    groups = names_in(entry.get("groups"))
    if entry.get("optional_groups"):
        groups = [group for group in groups if group in known]
    is_system = entry.get("system", False)
    wanted: dict[str, Any] = {
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
        "shell": _shell(context, entry),
    }
    if entry.get("no_user_group") and wanted["gid"] is None:
        wanted["gid"] = 100
    return {key: value for key, value in wanted.items() if value is not None}


def _shell(context: Context, entry: Mapping[str, Any]) -> str | None:
    """The shell that is asked for. One that is not there yet (a package brings it later) must not cost the user."""
    shell: str | None = entry.get("shell")
    if shell is None or commands.has_program(shell, context.machine.root):
        return shell
    context.warn(f"the shell {shell} is not there, so the default one is used")
    return None


def _close(context: Context, name: str, entry: Mapping[str, Any], is_new: bool) -> None:
    """Password and lock. Without a word the password is locked."""
    is_locked = entry.get("lock_passwd", True)
    given = entry.get("hashed_passwd") or (entry.get("passwd") if is_new else None)
    if "plain_text_passwd" in entry and given is None:
        set_password(context, name, entry["plain_text_passwd"], is_hash=False)
    elif given is not None:
        set_password(context, name, given, is_hash=True)
    if is_locked and not context.is_dry_run:
        user = accounts.find_user(context.machine, name, is_local=True)
        if user is not None and not user.password.startswith(("!", "*")):
            context.ensure("user", name, {"password": f"!{user.password}"}, {"password"})


def set_password(context: Context, name: str, password: str, *, is_hash: bool) -> None:
    """Set a password, by its hash or (hashed on the way) as it is; it stands on no command line."""
    if "\n" in password or "\r" in password:
        context.warn(f"the password of {name} has a line break, so it is not set")
        return
    if is_hash:
        context.ensure("user", name, {"password": password}, {"password"})
        return
    context.changed(f"User[{name}]: password set")
    if not context.is_dry_run:
        argv = ["chpasswd", "-c", "SHA512"]
        accounts.run_tool(context.machine, argv, stdin=f"{name}:{password}\n".encode())
        context.machine.snapshots.forget((accounts.KIND,))


def _allow(context: Context, name: str, entry: Mapping[str, Any]) -> None:
    """What the user may do as root."""
    rules = entry.get("sudo")
    if isinstance(rules, list) and rules:
        safe = name.replace(".", "_")  # sudo passes over names with a point
        lines = [f"# Rules for {name}", *(f"{name} {rule}" for rule in rules)]
        _write_rules(context, f"/etc/sudoers.d/90-precast-{safe}", "\n".join(lines) + "\n")
    for rule in entry.get("doas", []):
        if name not in rule.split():
            context.warn(f"users.{name}.doas: the rule {rule!r} does not name {name}, so it is not written")
            continue
        text = context.read_text("/etc/doas.conf")
        if rule not in text.splitlines():
            context.write("/etc/doas.conf", f"{text}{rule}\n".encode(), 0o440)


def _write_rules(context: Context, path: str, text: str) -> None:
    """A file for sudo. One wrong rule would keep everybody from it, so visudo looks at it first, where there is one."""
    context.make_directories("/etc/sudoers.d", 0o750)
    wanted: dict[str, Any] = {"ensure": "file", "content": text, "mode": "0440", **context.ownership("root", "root")}
    if context.has_programs and commands.has_program("visudo", context.machine.root):
        wanted["validate_cmd"] = "visudo -cf %"
    try:
        context.ensure("file", path, wanted)
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
        after=(After("bootcmd", "bootcmd comes before everything that configures"),),
    ),
    Module(
        "users",
        lambda context: context.outcome,
        {
            "users": Either(Items(Either(LIST, NAMED)), LIST, Table(USER, keeps_empty=True, keys=NAME)),
            "user": Either(NAME, USER),
            "system_info": Fields({"default_user": USER}, others=Shape()),
        },
        locks=(LOCK,),
        stage=Stage.NETWORK,
        after=(
            After("bootcmd", "bootcmd comes before everything that configures"),
            After("groups", "a user is put into groups that are there"),
            After("mounts", "homes may lie on what is mounted"),
        ),
        is_wanted=lambda config: bool(people(config)),
        parts=parts,
    ),
    Module(
        "group_members",
        add_members,
        {"groups": GROUPS},
        locks=(LOCK,),
        stage=Stage.NETWORK,
        after=(After("groups", "members need the group"), After("users", "members are users")),
        is_wanted=lambda config: any(wanted_groups(config).values()),
    ),
)
