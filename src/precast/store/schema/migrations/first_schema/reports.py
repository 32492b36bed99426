"""Tables of reports: one row for each run, its events in pages, and a row for each resource that an event happened to."""

TABLES = (
    """
    CREATE TABLE report (
        id          TEXT PRIMARY KEY,        -- made by the node
        node        TEXT NOT NULL REFERENCES node (name),
        state       TEXT NOT NULL,           -- running, ended, broken-off, not-run
        mode        TEXT NOT NULL,           -- noop, enforce; empty as long as only events have been received
        reason      TEXT NOT NULL,           -- schedule, released, ordered, hand
        order_id    TEXT NOT NULL,           -- the order that caused the run; empty if there was none
        catalog     TEXT NOT NULL,
        release     {int} NOT NULL,
        environment TEXT NOT NULL,
        version     TEXT NOT NULL,
        resources   {int} NOT NULL,
        changed     {int} NOT NULL,
        pending     {int} NOT NULL,
        failed      {int} NOT NULL,
        skipped     {int} NOT NULL,
        waiting     {int} NOT NULL,
        corrective  {int} NOT NULL,
        is_complete {int} NOT NULL,
        is_stale    {int} NOT NULL,
        events      {int} NOT NULL,          -- the highest event number that was reported
        got         {int} NOT NULL,          -- how many events are stored; fewer than `events` if the node lost some
        began_at    {int} NOT NULL,          -- by the node's clock
        ended_at    {int},
        took        {int},                   -- microseconds
        received_at {int} NOT NULL,          -- by the server's clock
        heard_at    {int} NOT NULL,          -- when the last record of the run was received
        why         TEXT NOT NULL,
        detail      {bytes} NOT NULL         -- compressed JSON: timings, staleness, names of the other resources
    ){strict}
    """,
    "CREATE INDEX report_node ON report (node, received_at, id)",
    "CREATE INDEX report_received ON report (received_at, id)",
    # By the job: the id of an order begins with it, and ids of jobs have 36 characters.
    "CREATE INDEX report_order ON report (substr(order_id, 1, 36), received_at, id) WHERE order_id <> ''",
    "CREATE INDEX report_running ON report (node) WHERE state = 'running'",
    "CREATE INDEX report_failed ON report (received_at, id) WHERE failed > 0",
    "CREATE INDEX report_eventful ON report (received_at, id) WHERE changed > 0 OR pending > 0",
    """
    CREATE TABLE report_page (
        report      TEXT NOT NULL,
        first       {int} NOT NULL,          -- number of the first event in it
        at          {int} NOT NULL,
        last        {int} NOT NULL,
        body        {bytes} NOT NULL,        -- compressed JSON: the events as the node sent them
        PRIMARY KEY (report, first, at)
    ){strict}{by_time}
    """,
    "CREATE INDEX report_page_at ON report_page (at)",
    """
    CREATE TABLE report_event (
        report       TEXT NOT NULL,
        number       {int} NOT NULL,
        at           {int} NOT NULL,
        node         TEXT NOT NULL,
        resource     TEXT NOT NULL,
        status       TEXT NOT NULL,          -- changed, noop, failed, skipped, waiting, unchanged
        is_corrective {int} NOT NULL,
        message      TEXT NOT NULL,          -- of a failure
        PRIMARY KEY (report, number, at)
    ){strict}{by_time}
    """,
    "CREATE INDEX report_event_at ON report_event (at)",
    "CREATE INDEX report_event_resource ON report_event (resource, at, report, number)",
    "CREATE INDEX report_event_failed ON report_event (at, report, number) WHERE status = 'failed'",
)
POSTGRESQL = (
    "CREATE TABLE report_page_rest PARTITION OF report_page DEFAULT",
    "CREATE TABLE report_event_rest PARTITION OF report_event DEFAULT",
    "ALTER TABLE report_page ALTER COLUMN body SET STORAGE EXTERNAL",
    "ALTER TABLE report ALTER COLUMN detail SET STORAGE EXTERNAL",
)
