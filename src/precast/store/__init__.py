"""What Precast keeps: one schema on SQLite or PostgreSQL, one module per aggregate, all SQL text, the work queue and wake-ups."""
