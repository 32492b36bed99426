"""Issues of environments, their content and the hooks that deploy them."""

from precast.base.errors import Issue, Kind

BAD_NAME = Issue(
    "ENV-001",
    Kind.INPUT,
    "{name} is not a valid name of an environment",
    "use lower-case letters, digits and _, beginning with a letter, as in production or feature_x",
)
BAD_TREE = Issue(
    "ENV-002",
    Kind.INPUT,
    "the file tree of the environment is invalid: {reason}",
    "change the files, then deploy again",
)
TREE_TOO_LARGE = Issue(
    "ENV-003",
    Kind.INPUT,
    "the environment has more than {limit} {what}",
    "leave out files that are not code: nodes should fetch packages and images from a repository",
)
CANNOT_READ = Issue("ENV-004", Kind.NOT_FOUND, "cannot read {place}: {reason}", "check the path and its permissions")
NO_ENVIRONMENT = Issue(
    "ENV-005",
    Kind.NOT_FOUND,
    "there is no environment {name}",
    "`precast env list` shows the environments; `precast env deploy` creates one",
)
NO_VERSION = Issue(
    "ENV-006",
    Kind.NOT_FOUND,
    "the environment {name} has no version {number}",
    "`precast env show {name}` lists the stored versions",
)
MISSING_CONTENT = Issue(
    "ENV-007",
    Kind.CONFLICT,
    "{count} files of the tree are not stored, {first} first",
    "deploy again: that uploads the missing files",
)
BROKEN_TREE = Issue(
    "ENV-008",
    Kind.INPUT,
    "{environment} is not deployed, errors in its files: {count}\n{problems}",
    "correct them, then deploy again; the previous version stays in use",
)
CHECK_FAILED = Issue(
    "ENV-009",
    Kind.UNAVAILABLE,
    "the files of {environment} could not be checked: {reason}",
    "the previous version stays in use; if it happens again, deploy fewer changes at once to find the file",
)
WRONG_CONTENT = Issue(
    "ENV-010",
    Kind.INPUT,
    "the uploaded content does not have the digest {digest}",
    "the file changed during the upload: try again",
)
CONTENT_TOO_LARGE = Issue("ENV-011", Kind.INPUT, "the content has more than {limit} bytes", "leave such files out")
CONTENT_INCOMPLETE = Issue("ENV-012", Kind.INPUT, "the upload is incomplete: {reason}", "try again")
NO_CONTENT = Issue("ENV-013", Kind.NOT_FOUND, "there is no such content", "check the digest")
BAD_DIGESTS = Issue(
    "ENV-014",
    Kind.INPUT,
    "some digests are invalid, or there are more than {limit}",
    "a digest is a sha256 in 64 lower-case hex digits",
)
NO_DISK_SPACE = Issue(
    "ENV-015",
    Kind.UNAVAILABLE,
    "the server cannot write the upload to {place}: {reason}",
    "free some disk space there, then try again",
)
BAD_POLICY = Issue("ENV-016", Kind.INPUT, "there is no policy {policy}", "it is manual or automatic")
BAD_COMMIT = Issue(
    "ENV-017", Kind.INPUT, "{commit} is not the hash of a commit", "give the hash in lower-case hex digits"
)
CONCURRENT_DEPLOYMENT = Issue(
    "ENV-018",
    Kind.CONFLICT,
    "{environment} is being deployed by somebody else",
    "see `precast env show`, then try again",
)
BAD_VERSION_NUMBER = Issue(
    "ENV-019", Kind.INPUT, "{text} is not the number of a version", "`precast env show` lists the versions"
)
BAD_REPOSITORY = Issue(
    "ENV-020",
    Kind.INPUT,
    "{repository} is not a git repository that can be fetched from here: {reason}",
    "give https://…, ssh://… or USER@HOST:PATH; a server's settings code_directories and code_hosts allow more",
)
BAD_REF = Issue(
    "ENV-021", Kind.INPUT, "{ref} is not a valid branch, tag or commit", "give its plain name, as in main or v1.2"
)
GIT_FAILED = Issue(
    "ENV-022",
    Kind.UNAVAILABLE,
    "cannot fetch from {repository}: {reason}",
    "try `git fetch` with the same repository and ref by hand; git cannot ask for a password here",
)
MODULES_MISSING = Issue(
    "ENV-023",
    Kind.INPUT,
    "{place} has a Puppetfile, but none of its modules are installed",
    "run `precast env modules install --environment {place}` first, then deploy again",
)
HOOKS_UNUSABLE = Issue(
    "ENV-024", Kind.INPUT, "cannot use the hooks in {path}: {reason}", "see docs/howto/deploy-code.md for the format"
)
HOOK_TOO_OFTEN = Issue(
    "ENV-025",
    Kind.LIMITED,
    "the hook of {environment} is called more than {limit} times a minute",
    "earlier calls already deploy the pushed commits",
)
BAD_APPROVALS = Issue(
    "ENV-026", Kind.INPUT, "a release cannot need {count} approvals", "give a number from 0 to {most}"
)
APPROVALS_AND_AUTOMATIC = Issue(
    "ENV-027",
    Kind.CONFLICT,
    "{environment} cannot release automatically and need approvals for releases",
    "choose one: `precast env policy {environment} manual`, or `precast env approvals {environment} 0`",
)
NOT_SIGNED = Issue(
    "ENV-028",
    Kind.DENIED,
    "{what} is not deployed: {reason}",
    "sign it with an allowed key (`git commit -S`, `git tag -s`) and push it; `precast env signing` shows the keys",
)
BAD_SIGNING = Issue(
    "ENV-029",
    Kind.INPUT,
    "such signatures cannot be required: {reason}",
    "require commit or tag, with an allowed-signers file of ssh or public keys of GPG",
)
CANNOT_VERIFY = Issue(
    "ENV-040",
    Kind.UNAVAILABLE,
    "the signature could not be verified: {reason}",
    "the previous version stays in use; install git, openssh-client and gnupg on the server",
)
SIGNED_ONLY = Issue(
    "ENV-041",
    Kind.DENIED,
    "{environment} takes only code whose {required} is signed, and {source} cannot show that",
    "push it, then deploy it from its repository: `precast env deploy {environment} --from-repository`",
)
NO_REPOSITORY = Issue(
    "ENV-042",
    Kind.NOT_FOUND,
    "this server knows no repository of {environment}",
    "name it in the hooks file; see docs/howto/deploy-code.md",
)
FETCH_FAILED = Issue(
    "ENV-036",
    Kind.UNAVAILABLE,
    "cannot fetch {repository}: {reason}",
    "the limits of a fetch are those of docs/explanation/limits.md; a smaller repository, or fewer modules, stay below them",
)
BAD_CODE_COMMIT = Issue(
    "ENV-037",
    Kind.INPUT,
    "{commit} is not the name of a commit",
    "restore Puppetfile.lock from version control, or remove it",
)
BAD_SETTINGS = Issue(
    "ENV-038",
    Kind.INPUT,
    "the file has more than {size} bytes, {paths} paths of modules or {wildcards} wildcards",
    "name the directories of modules, and leave out the rest",
)
