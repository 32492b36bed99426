"""Every migration, in order."""

from precast.store.migrations import (
    Migration,
    m0001_ground_floor,
    m0002_identity,
    m0003_facts,
    m0004_sessions,
    m0005_requests,
    m0006_classification,
    m0007_fact_history,
    m0008_environments,
    m0009_catalogs,
    m0010_reports,
    m0011_explanations,
    m0012_policies,
    m0013_resources,
    m0014_web_sessions,
    m0015_fact_briefs,
)

MIGRATIONS: tuple[Migration, ...] = (
    m0001_ground_floor.MIGRATION,
    m0002_identity.MIGRATION,
    m0003_facts.MIGRATION,
    m0004_sessions.MIGRATION,
    m0005_requests.MIGRATION,
    m0006_classification.MIGRATION,
    m0007_fact_history.MIGRATION,
    m0008_environments.MIGRATION,
    m0009_catalogs.MIGRATION,
    m0010_reports.MIGRATION,
    m0011_explanations.MIGRATION,
    m0012_policies.MIGRATION,
    m0013_resources.MIGRATION,
    m0014_web_sessions.MIGRATION,
    m0015_fact_briefs.MIGRATION,
)
