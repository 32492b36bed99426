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
    "{environment} is not deployed, errors in its files: {count}\n{problems}",
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
BAD_DIGESTS = Issue(
    "ENV-014", Kind.INPUT, "these are no digests, or more than {limit}", "a digest is a sha256 in 64 small hex digits"
)
NO_ROOM = Issue(
    "ENV-015",
    Kind.UNAVAILABLE,
    "content cannot be kept in {place} while it comes: {reason}",
    "free some space there, then try again",
)
BAD_POLICY = Issue("ENV-016", Kind.INPUT, "there is no policy {policy}", "it is manual or automatic")
BAD_COMMIT = Issue("ENV-017", Kind.INPUT, "{commit} is no commit", "give its hash, in small hex digits")
DEPLOYED_MEANWHILE = Issue(
    "ENV-018", Kind.CONFLICT, "somebody else is deploying {environment}", "look at `precast env show`, then try again"
)
NO_NUMBER = Issue("ENV-019", Kind.INPUT, "{text} is no number of a version", "`precast env show` lists them")
BAD_REPOSITORY = Issue(
    "ENV-020",
    Kind.INPUT,
    "{repository} is no git repository that is fetched from here",
    "give https://…, ssh://…, USER@HOST:PATH, or the absolute path of a local one",
)
BAD_REF = Issue("ENV-021", Kind.INPUT, "{ref} is no branch, tag or commit", "give its plain name, as main or v1.2")
GIT_FAILED = Issue(
    "ENV-022",
    Kind.UNAVAILABLE,
    "cannot fetch from {repository}: {reason}",
    "try `git fetch` with the same repository and ref by hand; without a terminal nobody is asked for a password",
)
MODULES_MISSING = Issue(
    "ENV-023",
    Kind.INPUT,
    "there is a Puppetfile, and none of its modules are in {place}",
    "run `precast env modules install --environment {place}` first, then deploy again",
)
BAD_RULE = Issue("NODE-006", Kind.INPUT, "this is no rule: {reason}", "see `precast node rules --help`")
NO_RULE = Issue("NODE-008", Kind.NOT_FOUND, "there is no rule {number}", "`precast node rules list` shows them")
HOOKS_UNUSABLE = Issue(
    "ENV-024", Kind.INPUT, "cannot use the hooks in {path}: {reason}", "see docs/howto/deploy-code.md for its form"
)
HOOK_TOO_OFTEN = Issue(
    "ENV-025",
    Kind.LIMITED,
    "the hook of {environment} is called more than {limit} times a minute",
    "what was pushed is deployed by the calls before",
)
