"""All fuzz targets by name."""

from tests.fuzz import (
    archive_targets,
    fleet_targets,
    node_targets,
    plan_targets,
    plan_value_targets,
    process_targets,
    secret_targets,
    text_targets,
)

TARGETS = {
    **node_targets.TARGETS,
    **text_targets.TARGETS,
    **plan_targets.TARGETS,
    **plan_value_targets.TARGETS,
    **archive_targets.TARGETS,
    **fleet_targets.TARGETS,
    **process_targets.TARGETS,
    **secret_targets.TARGETS,
}
