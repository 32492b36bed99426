"""The schema of the agent's local store."""

# One entry for each version of the schema; `PRAGMA user_version` says how many of them a file has. A later version appends an entry.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE session (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      instance TEXT NOT NULL,
      life TEXT NOT NULL DEFAULT '',
      attempts TEXT NOT NULL DEFAULT '[]',
      epoch INTEGER NOT NULL DEFAULT 0,
      term INTEGER NOT NULL DEFAULT 0,
      received INTEGER NOT NULL DEFAULT 0,
      received_at INTEGER,
      given INTEGER NOT NULL DEFAULT 0,
      horizon_s REAL NOT NULL DEFAULT 0,
      facts_digest TEXT NOT NULL DEFAULT '',
      records INTEGER NOT NULL DEFAULT 0,
      bytes INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE record (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      number INTEGER UNIQUE,
      kind TEXT NOT NULL,
      version INTEGER NOT NULL,
      importance INTEGER NOT NULL,
      at INTEGER NOT NULL,
      acked_at INTEGER,
      size INTEGER NOT NULL,
      body BLOB NOT NULL
    );
    CREATE INDEX record_unsent ON record (importance, id) WHERE number IS NULL;
    CREATE INDEX record_acked ON record (number) WHERE acked_at IS NOT NULL;
    CREATE TRIGGER record_added AFTER INSERT ON record BEGIN
      UPDATE session SET records = records + 1, bytes = bytes + NEW.size;
    END;
    CREATE TRIGGER record_removed AFTER DELETE ON record BEGIN
      UPDATE session SET records = records - 1, bytes = bytes - OLD.size;
    END;
    CREATE TRIGGER record_resized AFTER UPDATE OF size ON record BEGIN
      UPDATE session SET bytes = bytes + NEW.size - OLD.size;
    END;
    CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL);
    CREATE TABLE standing_order (kind TEXT PRIMARY KEY, why TEXT NOT NULL);
    CREATE TABLE queued_order (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      state TEXT NOT NULL,
      claim INTEGER NOT NULL DEFAULT 0,
      granted INTEGER NOT NULL DEFAULT 0,
      begins INTEGER NOT NULL DEFAULT 0,
      boot_id TEXT NOT NULL DEFAULT '',
      begun_s REAL NOT NULL DEFAULT 0,
      is_aborted INTEGER NOT NULL DEFAULT 0,
      progress BLOB,
      body BLOB NOT NULL,
      at INTEGER NOT NULL
    );
    CREATE INDEX queued_order_state ON queued_order (state, number);
    CREATE TABLE spent_order (id TEXT PRIMARY KEY, until INTEGER NOT NULL);
    CREATE TABLE run_lease (only INTEGER PRIMARY KEY CHECK (only = 1), token INTEGER NOT NULL, holder TEXT NOT NULL);
    INSERT INTO run_lease (only, token, holder) VALUES (1, 0, '');
    CREATE TABLE resource_state (ref TEXT PRIMARY KEY, state BLOB NOT NULL, applied_at INTEGER);
    CREATE TABLE promise (
      key TEXT PRIMARY KEY,
      value BLOB NOT NULL,
      is_sensitive INTEGER NOT NULL,
      scope TEXT NOT NULL,
      attempt TEXT NOT NULL,
      at INTEGER NOT NULL,
      expires_at INTEGER,
      left_s REAL,
      received_s REAL NOT NULL,
      boot_id TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE subscription (
      attempt TEXT PRIMARY KEY,
      catalog TEXT NOT NULL,
      round INTEGER NOT NULL DEFAULT 0,
      is_answered INTEGER NOT NULL DEFAULT 0,
      news INTEGER NOT NULL DEFAULT 0,
      used INTEGER NOT NULL DEFAULT 0,
      error TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    CREATE TABLE received_value (
      attempt TEXT NOT NULL,
      key TEXT NOT NULL,
      node TEXT NOT NULL,
      round INTEGER NOT NULL,
      number INTEGER NOT NULL,
      state TEXT NOT NULL,
      value BLOB NOT NULL,
      is_sensitive INTEGER NOT NULL,
      expires_at INTEGER,
      left_s REAL,
      received_s REAL NOT NULL,
      boot_id TEXT NOT NULL,
      reason TEXT NOT NULL,
      is_standing INTEGER NOT NULL,
      has_expired INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (attempt, key, node)
    ) WITHOUT ROWID;
    CREATE TABLE bound_value (
      catalog TEXT NOT NULL,
      key TEXT NOT NULL,
      node TEXT NOT NULL,
      number INTEGER NOT NULL,
      state TEXT NOT NULL,
      value BLOB NOT NULL,
      is_sensitive INTEGER NOT NULL,
      expires_at INTEGER,
      left_s REAL,
      received_s REAL NOT NULL,
      boot_id TEXT NOT NULL,
      reason TEXT NOT NULL,
      is_standing INTEGER NOT NULL,
      has_expired INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (catalog, key, node)
    ) WITHOUT ROWID;
    CREATE TABLE open_report (id TEXT PRIMARY KEY, began BLOB NOT NULL, events INTEGER NOT NULL);
    """,
)
