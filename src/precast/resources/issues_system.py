"""What can go wrong with packages, services, accounts and the system's own files. Codes 150 to 199."""

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
    "no package manager that Precast knows is on this machine",
    "name one with provider => …; there are: {providers}",
)
UNREADABLE = Issue(
    "RESOURCE-153",
    Kind.UNAVAILABLE,
    "cannot read {path}: {reason}",
    "run as root, or look at the file",
)
NOT_OFFERED = Issue(
    "RESOURCE-154",
    Kind.NOT_FOUND,
    "{provider} knows no package {name}",
    "check the name, and that the package lists are fresh",
)
NO_CRON = Issue(
    "RESOURCE-155",
    Kind.UNAVAILABLE,
    "there is no program `crontab` on this machine",
    "install cron, in a package resource that this one requires",
)
NO_SCRIPT = Issue(
    "RESOURCE-156",
    Kind.NOT_FOUND,
    "there is no init script for {name} in {places}",
    "install the service first, in a resource that this one requires",
)
NO_WAY = Issue(
    "RESOURCE-157",
    Kind.INPUT,
    "nothing says how to {what} {name}",
    "give the command: {what} => '…'",
)
NO_USER = Issue(
    "RESOURCE-158",
    Kind.NOT_FOUND,
    "there is no user {user}",
    "make the user first, in a resource that this one requires",
)
UNWRITABLE = Issue(
    "RESOURCE-159",
    Kind.DENIED,
    "{user} cannot write {path}: {reason}",
    "look at the owners of the file and its directory; drop_privileges => false writes as root",
)
