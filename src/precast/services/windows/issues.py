"""Issues of schedules and maintenance windows."""

from precast.base.errors import Issue, Kind

BAD_CRON = Issue(
    "CRON-001",
    Kind.INPUT,
    "{expression!r} is not a valid schedule: {reason}",
    "write minute, hour, day of the month, month and day of the week, such as '30 2 * * sun', or @daily",
)
UNKNOWN_ZONE = Issue(
    "CRON-002",
    Kind.INPUT,
    "the time zone {zone!r} is not known",
    "use a name of the IANA database, such as Europe/Berlin, America/New_York or UTC",
)
CRON_NEVER = Issue(
    "CRON-003",
    Kind.INPUT,
    "the schedule {expression!r} names no time",
    "check the day and the month: 30 February, for example, does not exist",
)
BAD_CALENDAR = Issue(
    "WINDOW-004",
    Kind.INPUT,
    "this calendar cannot be used: {reason}",
    "correct the file, or write simple rules: `precast window create NAME --rule 'Sun 02:00 4h Europe/Berlin'`",
)
BAD_WINDOW_NAME = Issue(
    "WINDOW-001",
    Kind.INPUT,
    "{name!r} is not a valid name for a window",
    "use lower-case letters, digits, dots, hyphens and underscores, begin with a letter or digit, at most 64 characters",
)
NO_WINDOW = Issue(
    "WINDOW-002", Kind.NOT_FOUND, "there is no window {name!r}", "`precast window list` shows the windows"
)
STILL_BOUND = Issue(
    "WINDOW-003",
    Kind.CONFLICT,
    "the window {name} is bound to {count} target(s), whose nodes would be open at any time without it",
    "`precast window show {name}` lists the targets; unbind them first with `precast window unbind {name} --target TARGET`",
)
BAD_WINDOW = Issue("WINDOW-005", Kind.INPUT, "the window is invalid: {reason}", "see `precast window create --help`")
NO_BINDING = Issue(
    "WINDOW-006",
    Kind.NOT_FOUND,
    "the window {name} is not bound to {target!r}",
    "`precast window show {name}` lists the targets it is bound to; write the target exactly as there",
)
