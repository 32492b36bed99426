"""What can go wrong with content, environments and classification."""

from precast.base.errors import Issue, Kind

BAD_NAME = Issue(
    "ENV-001",
    Kind.INPUT,
    "{name} is no name of an environment",
    "it begins with a small letter and goes on with small letters, digits and _, as production or feature_x",
)
BAD_TREE = Issue(
    "ENV-002", Kind.INPUT, "this is no tree of an environment: {reason}", "change the files, then deploy again"
)
TREE_TOO_LARGE = Issue(
    "ENV-003",
    Kind.INPUT,
    "the environment has more than {limit} {what}",
    "leave out what is no code: packages and images are better fetched from where they are kept",
)
CANNOT_READ = Issue("ENV-004", Kind.NOT_FOUND, "cannot read {place}: {reason}", "check the path and who may read it")
NO_ENVIRONMENT = Issue(
    "ENV-005",
    Kind.NOT_FOUND,
    "there is no environment {name}",
    "`precast env list` shows them; `precast env deploy` makes one",
)
NO_VERSION = Issue(
    "ENV-006",
    Kind.NOT_FOUND,
    "the environment {name} has no version {number}",
    "`precast env show {name}` lists those that are kept",
)
MISSING_CONTENT = Issue(
    "ENV-007",
    Kind.CONFLICT,
    "{count} files of the tree are not stored, {first} first",
    "deploy again: what is missing is sent then",
)
BROKEN_TREE = Issue(
    "ENV-008",
    Kind.INPUT,
    "{environment} is not deployed, {count} of its files are broken:\n{problems}",
    "correct them, then deploy again; the version before stays",
)
CHECK_FAILED = Issue(
    "ENV-009",
    Kind.UNAVAILABLE,
    "the files of {environment} could not be checked: {reason}",
    "the version before stays; if it happens again, deploy fewer changes at once to find the file",
)
WRONG_CONTENT = Issue(
    "ENV-010", Kind.INPUT, "what was sent has not the digest {digest}", "the file changed while it was sent: try again"
)
CONTENT_TOO_LARGE = Issue("ENV-011", Kind.INPUT, "content has more than {limit} bytes", "leave such files out")
CONTENT_CUT_OFF = Issue("ENV-012", Kind.INPUT, "the content did not come to its end: {reason}", "try again")
NO_CONTENT = Issue("ENV-013", Kind.NOT_FOUND, "there is no such content", "check the digest")
TOO_MUCH_SAID = Issue(
    "NODE-005",
    Kind.INPUT,
    "classes and parameters of a node have {size} bytes, more than {limit}",
    "say less about single nodes: data belongs into Hiera",
)
