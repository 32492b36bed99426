"""The table of the site's clock."""

TABLES = (
    """
    CREATE TABLE clock_mark (                -- one row: the time that this site last trusted
        id           {int} PRIMARY KEY,
        at           {int} NOT NULL,
        boot_id      TEXT NOT NULL,          -- of the machine of the server that wrote it
        boot         {int} NOT NULL,         -- microseconds since that machine started
        confirmed    {int} NOT NULL,         -- how often an operator has confirmed the clock
        lowest_at    {int},                  -- the lowest time while the clock was behind
        corrected_at {int}                   -- when it was right again
    ){strict}
    """,
)
