"""Errors in a Puppetfile and in modules' metadata."""

from precast.base.errors import Issue, Kind

NOT_STATIC = Issue(
    "MODULE-001",
    Kind.INPUT,
    "the Puppetfile is parsed, not executed: {problem}",
    "use mod, forge and moduledir with plain strings, symbols and hashes",
)
BAD_NAME = Issue(
    "MODULE-002",
    Kind.INPUT,
    "'{name}' is not a valid module name",
    "write NAME, AUTHOR/NAME or AUTHOR-NAME; a name consists of lower-case letters, digits and _",
)
UNKNOWN_OPTION = Issue(
    "MODULE-003",
    Kind.INPUT,
    "module {name}: {option} is not supported",
    "use :git with :ref, :tag, :commit or :branch, :install_path, :local, or a version from the Forge",
)
TWICE = Issue("MODULE-004", Kind.INPUT, "the Puppetfile lists module {name} twice", "remove one of the two entries")
BAD_PATH = Issue(
    "MODULE-005",
    Kind.INPUT,
    "the path '{path}' is outside the environment",
    "give a path relative to the Puppetfile, without ..",
)
BAD_REPOSITORY = Issue(
    "MODULE-006",
    Kind.INPUT,
    "module {name}: '{url}' is not an allowed address of a git repository: {reason}",
    "use https, ssh, git or file, user@host:path, or a path",
)
BAD_REFERENCE = Issue(
    "MODULE-007",
    Kind.INPUT,
    "module {name}: '{reference}' is not a valid tag, branch or commit",
    "begin the name with a letter, digit or _, and use no blanks",
)
