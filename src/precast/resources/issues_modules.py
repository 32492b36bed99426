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
BAD_KEY = Issue(
    "RESOURCE-240",
    Kind.INPUT,
    "cannot compare {path} with the key {key}: {reason}",
    "check both files and the key's password",
)
NO_DATA = Issue(
    "RESOURCE-241",
    Kind.INPUT,
    "{ref} has no data: a hash that is known when the run begins",
    "give it a hash without Deferred values or futures in it",
)
NO_TEMPLATE_FUNCTION = Issue(
    "RESOURCE-242",
    Kind.INPUT,
    "a template of datacat can use @data, and not {name}",
    "put what the template needs into the data of a fragment",
)
NO_TARGET = Issue(
    "RESOURCE-243",
    Kind.NOT_FOUND,
    "the catalog has no resource {ref}, which is to get the data",
    "declare it, or correct target_resource",
)
WRONG_KEY = Issue(
    "RESOURCE-244",
    Kind.INPUT,
    "the key that is given for {id} does not have the fingerprint: {reason}",
    "correct the id, and check with its owner that the key is theirs",
)
STILL_TRUSTED = Issue(
    "RESOURCE-245",
    Kind.UNAVAILABLE,
    "apt still has the key {id} after it was removed",
    "look for it in /etc/apt/trusted.gpg.d: `apt-key` removes no key that a package installed",
)
BAD_KEYRING = Issue(
    "RESOURCE-246",
    Kind.INPUT,
    "the keyring {path} cannot be read: {reason}",
    "apt cannot read it either: export the key again with `gpg --export`",
)
