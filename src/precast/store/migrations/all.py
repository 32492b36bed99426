"""Every migration, in order."""

from precast.store.migrations import Migration, m0001_ground_floor

MIGRATIONS: tuple[Migration, ...] = (m0001_ground_floor.MIGRATION,)
