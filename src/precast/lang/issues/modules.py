"""What can be wrong with a Puppetfile and with what modules say of themselves."""

from precast.base.errors import Issue, Kind

NOT_STATIC = Issue(
    "MODULE-001",
    Kind.INPUT,
    "the Puppetfile is read, not run: {problem}",
    "use mod, forge and moduledir with plain strings, symbols and hashes",
)
BAD_NAME = Issue(
    "MODULE-002",
    Kind.INPUT,
    "'{name}' is no name of a module",
    "write NAME, AUTHOR/NAME or AUTHOR-NAME; names have lower-case letters, digits and _",
)
UNKNOWN_OPTION = Issue(
    "MODULE-003",
    Kind.INPUT,
    "module {name}: {option} is not supported",
    "known are :git with :ref, :tag, :commit or :branch, :install_path, :local, and a version from the forge",
)
TWICE = Issue("MODULE-004", Kind.INPUT, "module {name} stands in the Puppetfile twice", "keep one of the two lines")
BAD_PATH = Issue(
    "MODULE-005",
    Kind.INPUT,
    "the path '{path}' leads out of the environment",
    "give a path relative to the Puppetfile, without ..",
)
BAD_REPOSITORY = Issue(
    "MODULE-006",
    Kind.INPUT,
    "module {name}: '{url}' is no address of a git repository that may be used",
    "use https, ssh, git or file, user@host:path, or a path",
)
BAD_REFERENCE = Issue(
    "MODULE-007",
    Kind.INPUT,
    "module {name}: '{reference}' cannot be a tag, branch or commit",
    "names begin with a letter, digit or _ and have no blanks",
)
