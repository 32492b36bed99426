"""Errors of packages, services, accounts and system files. Codes 150 to 199."""

from precast.base.errors import Issue, Kind

COMMAND_FAILED = Issue(
    "RESOURCE-150",
    Kind.UNAVAILABLE,
    "`{command}` ended with {code}: {output}",
    "run it by hand to see more",
)
NO_PACKAGE_MANAGER = Issue(
    "RESOURCE-151",
    Kind.INPUT,
    "this machine has no package manager that Precast supports",
    "name one with provider => …; supported are: {providers}",
)
UNREADABLE = Issue(
    "RESOURCE-153",
    Kind.UNAVAILABLE,
    "cannot read {path}: {reason}",
    "run as root, or check the file",
)
NOT_OFFERED = Issue(
    "RESOURCE-154",
    Kind.NOT_FOUND,
    "{provider} has no package {name}",
    "check the name, and that the package lists are up to date",
)
NO_CRON = Issue(
    "RESOURCE-155",
    Kind.UNAVAILABLE,
    "this machine has no program `crontab`",
    "install cron, in a package resource that this one requires",
)
NO_SCRIPT = Issue(
    "RESOURCE-156",
    Kind.NOT_FOUND,
    "there is no init script for {name} in {places}",
    "install the service first, in a resource that this one requires",
)
NO_SERVICE_COMMAND = Issue(
    "RESOURCE-157",
    Kind.INPUT,
    "there is no command to {what} {name}",
    "give the command: {what} => '…'",
)
NO_USER = Issue(
    "RESOURCE-158",
    Kind.NOT_FOUND,
    "user {user} does not exist",
    "create the user first, in a resource that this one requires",
)
UNWRITABLE = Issue(
    "RESOURCE-159",
    Kind.DENIED,
    "{user} cannot write {path}: {reason}",
    "check the owners of the file and its directory; drop_privileges => false writes as root",
)
