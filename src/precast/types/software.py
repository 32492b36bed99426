"""Types about software: packages, services, commands and their times."""

from precast.types.declaration import AutoRelation, ManagedType

PACKAGE = ManagedType(
    "package",
    "An installed package.",
    properties={
        "ensure": "present, installed, absent, purged, latest, disabled, held or a version",
        "flavor": "flavour or module stream",
        "mark": "hold pins the package to its version; none unpins it",
        "package_settings": "settings the package manager knows",
    },
    parameters={
        "name": "the package's name; the title if not given",
        "adminfile": "Solaris: file with defaults",
        "allow_virtual": "also accept a package that provides the name",
        "allowcdrom": "allow sources on a disc",
        "category": "read only: set by the package",
        "command": "which command of a language's package manager to use",
        "configfiles": "keep or replace configuration files when upgrading",
        "description": "read only: set by the package",
        "enable_only": "only enable a module stream",
        "install_only": "install beside other versions",
        "install_options": "options for the package manager when installing",
        "instance": "read only: the package's instance",
        "platform": "read only: set by the package",
        "provider": "package manager to use: apt, dnf, pip, …",
        "reinstall_on_refresh": "install again when notified",
        "responsefile": "answers to questions of the package",
        "root": "read only: where it is installed",
        "source": "a package file to install from",
        "status": "read only: the state that the package manager reports",
        "uninstall_options": "options for the package manager when removing",
        "vendor": "read only: set by the package",
    },
    namevars=("name", "provider", "command"),
    relations=(
        AutoRelation("file", ("responsefile",), "path"),
        AutoRelation("file", ("adminfile",), "path"),
        AutoRelation("file", ("source",), "path"),
    ),
)

SERVICE = ManagedType(
    "service",
    "A service: whether it runs now and at boot.",
    properties={
        "ensure": "running (true) or stopped (false)",
        "enable": "true, false, manual, mask, delayed: what happens at boot",
        "flags": "flags for starting, where the system has them",
        "logonaccount": "Windows: account to run as",
    },
    parameters={
        "name": "the service's name; the title if not given",
        "binary": "path of the daemon, for services without a script",
        "control": "variable that switches it on",
        "hasrestart": "whether its script supports restart",
        "hasstatus": "whether its script supports status",
        "logonpassword": "Windows: password of logonaccount",
        "manifest": "Solaris: path of its manifest",
        "path": "directories that are searched for scripts",
        "pattern": "a pattern of its process name, if status does not work",
        "provider": "which init system to use",
        "restart": "command to restart it",
        "start": "command to start it",
        "status": "command that says whether it runs",
        "stop": "command to stop it",
        "timeout": "seconds to wait for it",
    },
)

EXEC = ManagedType(
    "exec",
    "A command to run when it is needed.",
    properties={"returns": "exit codes that mean success (0)"},
    parameters={
        "command": "command line, absolute or found on path; the title if not given",
        "creates": "do not run if this file exists",
        "cwd": "directory to run in",
        "environment": "variables as NAME=value",
        "group": "group to run as",
        "logoutput": "true, false or on_failure",
        "onlyif": "run only if this command succeeds",
        "path": "directories that are searched for commands",
        "provider": "posix runs directly, shell through /bin/sh",
        "refresh": "command to run instead when notified",
        "refreshonly": "run only when notified",
        "timeout": "seconds it may take (300); 0 for no limit",
        "tries": "how often to try",
        "try_sleep": "seconds between tries",
        "umask": "umask to run with",
        "unless": "do not run if this command succeeds",
        "user": "user to run as",
    },
    namevars=("command",),
    is_isomorphic=False,
    relations=(
        AutoRelation("file", ("cwd",), "path"),
        AutoRelation("file", ("command",), "program"),
        AutoRelation("file", ("onlyif", "unless"), "programs"),
        AutoRelation("user", ("user",)),
    ),
)

CRON = ManagedType(
    "cron",
    "A line in a user's crontab.",
    properties={
        "ensure": "present or absent",
        "command": "what to run",
        "environment": "variables as NAME=value",
        "hour": "0-23, *, a range or an array",
        "minute": "0-59, *, a range or an array",
        "month": "1-12 or names",
        "monthday": "1-31",
        "special": "reboot, hourly, daily, weekly, monthly, yearly",
        "target": "whose crontab, if not the user's",
        "user": "whose crontab",
        "weekday": "0-7 or names",
    },
    parameters={"name": "a name for the line; the title if not given", "provider": "which implementation to use"},
    relations=(AutoRelation("user", ("user",)),),
)

NOTIFY = ManagedType(
    "notify",
    "A message in the report.",
    properties={"message": "the text; the title if not given"},
    parameters={
        "name": "a name for the message; the title if not given",
        "withpath": "show the resource's path in the catalog",
    },
)
