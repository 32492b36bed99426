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
