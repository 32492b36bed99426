"""Every migration, in order."""

from precast.store.schema.migrations import Migration, m0001_first_schema

MIGRATIONS: tuple[Migration, ...] = (m0001_first_schema.MIGRATION,)
