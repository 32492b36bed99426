"""Errors of the works over files. Codes 050 to 069 of AGENT."""

from precast.base.errors import Issue, Kind

NO_SOURCE = Issue(
    "AGENT-050",
    Kind.NOT_FOUND,
    "there is no file {path} on this node",
    "check the path in the plan, and that an earlier task writes the file",
)
SOURCE_IS_DIRECTORY = Issue(
    "AGENT-051",
    Kind.INPUT,
    "{path} is a directory, and only files are collected",
    "name its files, or use a task of the type `sync` for the whole directory",
)
NOT_REGULAR = Issue("AGENT-052", Kind.INPUT, "{path} is not a regular file", "name a regular file in the plan")
SOURCE_TOO_LARGE = Issue(
    "AGENT-053",
    Kind.INPUT,
    "{path} has {size} bytes, and content of tasks at most {limit}",
    "fetch large files from a repository, or use a task of the type `sync`",
)
RESULT_TOO_LARGE = Issue(
    "AGENT-054",
    Kind.INPUT,
    "the paths and digests of {count} files are too long for the result of a task",
    "collect fewer files in one task",
)
CANNOT_READ = Issue(
    "AGENT-055", Kind.UNAVAILABLE, "cannot read {path}: {reason}", "check the file, and the disk that it lies on"
)
CANNOT_WRITE = Issue(
    "AGENT-056",
    Kind.UNAVAILABLE,
    "cannot write {path}: {reason}",
    "the file is as it was before; check its directory, and the free space on its disk",
)
BAD_TARGET = Issue(
    "AGENT-057", Kind.INPUT, "{path} cannot be written: {reason}", "give the absolute path of a file in the plan"
)
TARGET_IS_DIRECTORY = Issue(
    "AGENT-058",
    Kind.CONFLICT,
    "{path} is a directory, and is not replaced by a file",
    "name a file in that directory, or remove the directory first",
)
LOST_LINK = Issue(
    "AGENT-059",
    Kind.DENIED,
    "{path} is a link that user {uid} could have made, and it leads to no file",
    "name the file by its real path, or remove the link",
)
BAD_INPUT = Issue(
    "AGENT-060",
    Kind.INPUT,
    "the input `{name}` of the task cannot be used: {reason}",
    "check which task's result the plan gives to this input",
)
NOT_COLLECTED = Issue(
    "AGENT-061",
    Kind.INPUT,
    "{source} is not among the files that were collected",
    "let the task that collects files name it",
)
NOT_OFFERED = Issue(
    "AGENT-062",
    Kind.NOT_FOUND,
    "the server offers this task no content {digest}",
    "the run may count this attempt as lost; see `precast plan status`, then retry it",
)
SERVERS_AWAY = Issue(
    "AGENT-063",
    Kind.UNAVAILABLE,
    "no server has answered before the deadline of the task: {reason}",
    "check the connection with `precast agent status`, then retry the task",
)
STOPPED = Issue("AGENT-064", Kind.UNAVAILABLE, "the task was stopped", "retry it with `precast plan retry`")
NO_RSYNC = Issue(
    "AGENT-065",
    Kind.NOT_FOUND,
    "rsync is not installed on this node",
    "install the package rsync by an earlier task of the plan",
)
BAD_SYNC = Issue(
    "AGENT-066",
    Kind.INPUT,
    "{what} cannot be synchronised: {reason}",
    "give a source as rsync knows it (rsync://HOST/MODULE/PATH, HOST:/PATH, or an absolute path) and a directory",
)
UNTRUSTED_TARGET = Issue(
    "AGENT-067",
    Kind.DENIED,
    "{path} is not synchronised, because other users could lead root astray there: {reason}",
    "synchronise to a directory that only root can change, as all directories above it",
)
