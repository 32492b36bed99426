"""Tables of maintenance windows, and the nodes and actions that they are bound to."""

TABLES = (
    """
    CREATE TABLE maintenance_window (
        name        TEXT PRIMARY KEY,
        kind        TEXT NOT NULL,           -- rules, calendar
        is_blackout {int} NOT NULL,          -- 1 if it closes what other windows open
        source      TEXT NOT NULL,           -- the rules, one in a line, or the text of an iCalendar file
        zone        TEXT NOT NULL,           -- of times in a calendar that name none
        digest      TEXT NOT NULL,           -- of kind, source and zone
        made_by     TEXT NOT NULL,
        made_at     {int} NOT NULL,
        changed_by  TEXT NOT NULL,
        changed_at  {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE window_binding (
        name     TEXT NOT NULL REFERENCES maintenance_window (name),
        target   TEXT NOT NULL,              -- selects nodes whenever it is asked
        classes  TEXT NOT NULL,              -- JSON: classes of actions, or all
        at_close TEXT NOT NULL,              -- finish, abort
        bound_by TEXT NOT NULL,
        bound_at {int} NOT NULL,
        PRIMARY KEY (name, target)
    ){strict}
    """,
)
