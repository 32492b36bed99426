"""The issues that the store raises."""

from precast.base.errors import Issue, Kind

BAD_LOCATION = Issue(
    "STORE-001",
    Kind.INPUT,
    "{location} does not name a database",
    "give a file path, sqlite:///PATH or postgresql://USER@HOST/NAME; in a password write / ? # @ as %2F %3F %23 %40",
)
NO_DATABASE = Issue(
    "STORE-002",
    Kind.NOT_FOUND,
    "there is no database at {location}",
    "create it with `precast db migrate --database {location}`",
)
CANNOT_OPEN = Issue(
    "STORE-003",
    Kind.UNAVAILABLE,
    "cannot open the database {location}: {reason}",
    "check that the location exists, that this user may write there, and that the database server is running",
)
NOT_OURS = Issue(
    "STORE-004",
    Kind.CONFLICT,
    "{location} is not a Precast database",
    "give Precast a database of its own; nothing was changed in this one",
)
BUSY = Issue(
    "STORE-005",
    Kind.UNAVAILABLE,
    "the database was busy for {waited_s:g} s",
    "try again; if the problem persists, look for a process that keeps a transaction open",
)
DISK_FULL = Issue(
    "STORE-006",
    Kind.UNAVAILABLE,
    "there is no space left for the database {location}; the write was rolled back",
    "free some space, then try again",
)
CONNECTION_LOST = Issue(
    "STORE-007",
    Kind.UNAVAILABLE,
    "the connection to the database {location} was lost: {reason}",
    "check that the database server is running, then try again",
)
OUTCOME_UNKNOWN = Issue(
    "STORE-008",
    Kind.UNAVAILABLE,
    "the database {location} failed during a commit: {reason}",
    "it is unknown whether this write was stored; try again, every write can be repeated",
)
CONSTRAINT = Issue(
    "STORE-009",
    Kind.CONFLICT,
    "the write conflicts with stored data: {reason}",
    "read the current state, then try again",
)
DAMAGED = Issue(
    "STORE-010",
    Kind.UNAVAILABLE,
    "the database {location} is damaged: {reason}",
    "stop Precast and restore a backup to a new location with `precast db restore`",
)
IO_FAILED = Issue(
    "STORE-011",
    Kind.UNAVAILABLE,
    "the disk under {location} failed: {reason}",
    "check the disk and the kernel log before anything else",
)
FAILED = Issue(
    "STORE-012", Kind.INTERNAL, "query {query} failed: {reason}", "this is a bug in Precast; please report it"
)
CLOSED = Issue("STORE-013", Kind.UNAVAILABLE, "the database is closing", "try again after the restart")
TOO_OLD_ENGINE = Issue(
    "STORE-014",
    Kind.INPUT,
    "{engine} {version} is too old",
    "install {engine} {needed} or newer",
)
NOT_DURABLE = Issue(
    "STORE-015",
    Kind.INPUT,
    "the database would lose acknowledged data: {reason}",
    "change the setting and reload PostgreSQL; `precast db check` shows all of them",
)
NO_DRIVER = Issue(
    "STORE-016",
    Kind.INPUT,
    "this installation of Precast cannot talk to PostgreSQL",
    "install the server parts: pip install 'precast[server]'",
)
DATABASE_NOT_TRUSTED = Issue(
    "STORE-017",
    Kind.UNAVAILABLE,
    "the database server {location} is not trusted: {reason}",
    "name the authority that issued its certificate with sslrootcert=FILE, and the host as its certificate does; "
    "docs/howto/use-postgresql.md has the other modes",
)
BAD_SSLMODE = Issue(
    "STORE-018",
    Kind.INPUT,
    "{mode} is not a value of sslmode, in {location}",
    "leave sslmode out, which means verify-full, or use one of: {modes}",
)

NEWER_SCHEMA = Issue(
    "STORE-020",
    Kind.CONFLICT,
    "the database has schema {found}, which needs a program with schema {needed} or newer; this program has {known}",
    "install a newer Precast; nothing was changed",
)
UNRELEASED_SCHEMA = Issue(
    "STORE-022",
    Kind.CONFLICT,
    "the database was made by an unreleased program: its migration {number} is {found!r}, the one of this program is {known!r}",
    "back up with that program, then restore into a new database with this one",
)
NOT_MIGRATED = Issue(
    "STORE-021",
    Kind.CONFLICT,
    "the database has schema {found}, this program needs {known}",
    "run `precast db migrate`",
)

BACKUP_EXISTS = Issue(
    "STORE-030", Kind.CONFLICT, "{path} exists already", "name a new file; a backup never overwrites a file"
)
BACKUP_UNWRITABLE = Issue(
    "STORE-031",
    Kind.UNAVAILABLE,
    "cannot write {path}: {reason}",
    "check the directory and the free space; no part of the file was left behind",
)
BACKUP_UNREADABLE = Issue(
    "STORE-032", Kind.NOT_FOUND, "cannot read {path}: {reason}", "check the name and the permissions"
)
BACKUP_BROKEN = Issue(
    "STORE-033",
    Kind.INPUT,
    "{path} is not a complete Precast backup: {reason}",
    "use another backup; nothing was restored",
)
BACKUP_NEWER = Issue(
    "STORE-035",
    Kind.CONFLICT,
    "{path} was made by a newer Precast (schema {found}, this program has {known})",
    "install a newer Precast, then restore",
)
BACKUP_ENCRYPTED = Issue(
    "STORE-036",
    Kind.INPUT,
    "{path} is encrypted",
    "give its passphrase with --passphrase-file, or the key of a recipient with --identity",
)
WRONG_BACKUP_KEY = Issue(
    "STORE-037",
    Kind.INPUT,
    "{path} is encrypted to another passphrase or recipient",
    "look for the key or passphrase that was used when it was taken; nothing was restored",
)
BAD_BACKUP_KEY = Issue(
    "STORE-038",
    Kind.INPUT,
    "cannot use the key {key}: {reason}",
    "a recipient is age1…, an identity is a file that `precast db keygen` or `age-keygen` wrote; give them exactly",
)
NO_BACKUP_KEY = Issue(
    "STORE-039",
    Kind.INPUT,
    "a backup with the keys of the site is always encrypted, and nothing says to whom",
    "give --recipient or --passphrase-file; or leave the keys out with --without-keys",
)
UNKNOWN_OWNER = Issue(
    "STORE-040",
    Kind.INPUT,
    "the user {name} owns the backed up {what}, and does not exist on this machine",
    "create the user first, or restore as the user who will own everything",
)
NOT_EMPTY = Issue(
    "STORE-034",
    Kind.CONFLICT,
    "the database {location} already holds data ({table})",
    "restore into a new, empty database, or only the keys with --only-keys",
)

UNKNOWN_KIND = Issue(
    "WORK-001", Kind.INTERNAL, "the work kind {kind} is not declared", "declare it where the queue is created"
)
QUEUE_FULL = Issue(
    "WORK-002",
    Kind.UNAVAILABLE,
    "the queue for {kind} is full ({limit} items)",
    "try again later; `precast db work` shows the waiting items",
)
PAYLOAD_TOO_LARGE = Issue(
    "WORK-003",
    Kind.INPUT,
    "the payload of {kind} {key} has {size} bytes, the limit is {limit}",
    "store the content by its digest and queue the digest",
)
NO_DEAD_LETTER = Issue(
    "WORK-004",
    Kind.NOT_FOUND,
    "there is no dead letter {kind} {key}",
    "`precast db work --dead` lists them",
)
STREAM_FULL = Issue(
    "STREAM-001",
    Kind.UNAVAILABLE,
    "the stream {stream} is full ({limit} records are not read yet)",
    "try again when its reader has caught up",
)
