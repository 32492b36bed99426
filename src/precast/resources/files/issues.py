"""Errors of file resources: invalid parameters, and failures while they are applied. Codes 100 to 149 of RESOURCE."""

from precast.base.errors import Issue, Kind

BAD_MODE = Issue(
    "RESOURCE-100",
    Kind.INPUT,
    "{mode} is not a file mode: {reason}",
    "write it in octal as a string ('0644'), or symbolic as in chmod ('u=rw,go=r')",
)
RELATIVE_PATH = Issue(
    "RESOURCE-101",
    Kind.INPUT,
    "the path {path} is not absolute",
    "write the path from / on; it is the title if not given",
)
SEVERAL_CONTENTS = Issue(
    "RESOURCE-102",
    Kind.INPUT,
    "only one of content, source and target may be given, not {names}",
    "keep one of them",
)
BAD_CHECKSUM = Issue(
    "RESOURCE-103",
    Kind.INPUT,
    "{name} cannot be used with checksum {kind}: {reason}",
    "omit checksum: the default is sha256",
)
REMOTE_WITHOUT_SOURCE = Issue(
    "RESOURCE-104", Kind.INPUT, "recurse => remote needs a source", "give a source, or recurse => true"
)
BAD_SOURCE = Issue(
    "RESOURCE-105",
    Kind.INPUT,
    "{source} cannot be a source: {reason}",
    "use puppet:///modules/MODULE/PATH, or an absolute path on the node",
)
NO_SOURCE = Issue(
    "RESOURCE-106",
    Kind.NOT_FOUND,
    "none of the sources exists: {sources}",
    "check the path below the module's files directory, then compile again",
)
NO_USER = Issue("RESOURCE-107", Kind.NOT_FOUND, "could not find user {name}", "declare the user, or correct the owner")
NO_GROUP = Issue(
    "RESOURCE-108", Kind.NOT_FOUND, "could not find group {name}", "declare the group, or correct the group's name"
)
UNTRUSTED_LINK = Issue(
    "RESOURCE-109",
    Kind.DENIED,
    "{path}: the link {link} belongs to user {uid}, but its target belongs to user {other}",
    "name the file by its real path, or make root the owner of the link and its directory",
)
TOO_MANY_LINKS = Issue(
    "RESOURCE-110", Kind.INPUT, "{path}: too many links on the way", "look for a link that points back to itself"
)
NO_PARENT = Issue(
    "RESOURCE-111",
    Kind.NOT_FOUND,
    "cannot create {path}; parent directory {parent} does not exist",
    "declare the directory as a resource too",
)
IS_DIRECTORY = Issue(
    "RESOURCE-112",
    Kind.CONFLICT,
    "{path} is a directory, and is not removed without force",
    "add force => true to replace the directory and all in it",
)
NOT_VALID = Issue(
    "RESOURCE-113",
    Kind.INPUT,
    "Execution of '{command}' returned {exit_code}: {output}",
    "the new content was not put in place; correct it, or the validate_cmd",
)
WRONG_CHECKSUM = Issue(
    "RESOURCE-114",
    Kind.INPUT,
    "the source of {path} has the checksum {found}, not {wanted}",
    "correct checksum_value, or the source",
)
TOO_MANY_FILES = Issue(
    "RESOURCE-115",
    Kind.INPUT,
    "{path} has {count} entries, more than max_files allows ({limit})",
    "raise max_files, or recurse less deep with recurselimit",
)
NO_BUCKET = Issue(
    "RESOURCE-116",
    Kind.INPUT,
    "the catalog has no filebucket {name}",
    "declare it, or use backup => puppet, or a suffix: backup => '.bak'",
)
SHARED_FILE = Issue(
    "RESOURCE-117",
    Kind.DENIED,
    "{path} has another hard link, and its directory belongs to user {uid}, not to its owner",
    "remove the file: user {uid} may have linked a file that belongs to another user",
)
SEVERAL_LINES = Issue(
    "RESOURCE-121",
    Kind.CONFLICT,
    "more than one line in {path} matches {pattern}",
    "make the pattern more precise, or add multiple => true",
)
NOT_FETCHED = Issue(
    "RESOURCE-119",
    Kind.UNAVAILABLE,
    "cannot fetch {source}: {reason}",
    "try it with `curl -I` on this node; the next run tries again",
)
FOREIGN_FILE = Issue(
    "RESOURCE-126",
    Kind.DENIED,
    "{path} belongs to user {owner}, and its content must not be given to user {uid}",
    "remove the file, or change its owner: whoever can write its directory may have renamed it",
)
TOO_LARGE = Issue(
    "RESOURCE-127",
    Kind.INPUT,
    "{path} has more than {limit_bytes} bytes, and is not read",
    "check who wrote the file; a large file can be compared by its time: checksum => mtime",
)
TOO_DEEP = Issue(
    "RESOURCE-128",
    Kind.INPUT,
    "directories in {path} are nested more than {limit} levels deep",
    "recurse less deep with recurselimit",
)
NO_FILE = Issue("RESOURCE-122", Kind.NOT_FOUND, "file {path} does not exist", "declare it as a resource of type file")
BAD_FRAGMENT = Issue(
    "RESOURCE-123",
    Kind.INPUT,
    "the fragment {fragment} of {path} is not {format}: {reason}",
    "correct the fragment's content",
)
FRAGMENT_CONFLICT = Issue(
    "RESOURCE-124",
    Kind.CONFLICT,
    "fragments of {path} disagree about {key}",
    "use force => true on the concat to let the later one win",
)
NO_TARGET = Issue(
    "RESOURCE-125",
    Kind.INPUT,
    "target concat_file with path or title of {target} not found in the catalog",
    "declare the concat, or correct the fragment's target",
)
UNKNOWN_FRAGMENT = Issue(
    "RESOURCE-160",
    Kind.UNAVAILABLE,
    "{ref}, a part of this file, has a value that is not known",
    "the file stays as it is; the fragment's report says what it needs. A fragment whose `target` is the file is applied before it",
)
NO_COMMANDS = Issue(
    "RESOURCE-118",
    Kind.INPUT,
    "validate_cmd cannot be run for a file below {root}",
    "add --chroot if {root} contains a whole system",
)
