"""Errors of the types that came to Puppet with modules. Codes 230 to 299."""

from precast.base.errors import Issue, Kind

NOT_NATIVE = Issue(
    "RESOURCE-230",
    Kind.INPUT,
    "Precast's own {type} cannot apply this resource: {reason}",
    "see `precast doc type {type}` for what it knows",
)
AUGEAS_FAILED = Issue(
    "RESOURCE-231",
    Kind.INPUT,
    "Augeas cannot {what}: {reason}",
    "try the same command with `augtool`",
)
BAD_AUGEAS_COMMAND = Issue(
    "RESOURCE-232",
    Kind.INPUT,
    "`{command}` is no command of Augeas: {reason}",
    "see `precast doc type augeas`",
)
EXCHANGEABLE_FILE = Issue(
    "RESOURCE-233",
    Kind.DENIED,
    "Augeas does not change {path}, which another user could exchange while it is read: {reason}",
    "change it with a resource of type file_line, ini_setting or file",
)
NO_AUGEAS = Issue(
    "RESOURCE-234",
    Kind.UNAVAILABLE,
    "this machine has no Augeas ({library})",
    "install libaugeas0 (Debian) or augeas-libs (Red Hat), in a package resource that this one requires",
)
NO_KERNEL_PARAMETER = Issue(
    "RESOURCE-235",
    Kind.NOT_FOUND,
    "the kernel has no parameter {name}",
    "check its name, and that the module which provides it is loaded: sysctl -a",
)
UNKNOWN_ARCHIVE = Issue(
    "RESOURCE-236",
    Kind.INPUT,
    "the name {path} does not tell what kind of archive it is",
    "give the command: extract_command => 'tar xf %s'",
)
WRONG_DOWNLOAD = Issue(
    "RESOURCE-237",
    Kind.INPUT,
    "what was downloaded for {path} has the checksum {found}, not {wanted}",
    "check the source, and correct checksum if the file has changed on purpose",
)
NO_ARCHIVE = Issue(
    "RESOURCE-238",
    Kind.NOT_FOUND,
    "{source} does not exist",
    "check the path, or create it in a resource that this one requires",
)
BAD_REPOSITORY_FILE = Issue(
    "RESOURCE-239",
    Kind.INPUT,
    "{path}:{line}: this is neither a section nor a value nor a comment of a repository file",
    "correct the line, or remove the file",
)
