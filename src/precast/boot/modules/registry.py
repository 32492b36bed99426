"""Lists every config module, and decides for each key of a configuration: a module reads it, or it is reported as unsupported or unknown.

No key is ignored silently. If a module reads the key, its value is checked against the module's schema. If cloud-init knows the key and
Precast does not support it, a finding gives the reason. Any other key is unknown, and the finding suggests the most similar known key.
"""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from precast.boot.modules.contract import Module
from precast.boot.modules.schema import INVALID, Finding, ValueSchema, suggest_nearest
from precast.boot.modules.unsupported_keys import READ_ELSEWHERE, UNSUPPORTED

# Python modules of this package; each lists its declarations in MODULES.
_NAMES = (
    "network", "scripts", "user_commands", "injected_files", "write_files", "hostnames", "users", "passwords",
    "platform_credentials", "ssh", "ssh_import_id", "random_seed", "localisation", "resolv_conf", "certificates", "apt",
    "repositories", "packages", "ntp", "rsyslog", "wireguard", "ec2_metadata", "root_growth", "disks", "mounts", "snaps", "lxd",
    "enrolment", "platform_readiness", "final_stage", "outputs", "power", "frequencies",
)  # fmt: skip


@functools.cache
def list_modules() -> tuple[Module, ...]:
    """Return every module, in the order in which the reference lists them."""
    modules: list[Module] = []
    for name in _NAMES:
        modules += importlib.import_module(f"precast.boot.modules.{name}").MODULES
    return tuple(modules)


@functools.cache
def list_schemas() -> Mapping[str, ValueSchema]:
    """Return the schema of every top-level key that a module reads."""
    return {key: schema for module in list_modules() for key, schema in module.schema.items()}


def clean(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Return a merged configuration in the form that modules rely on, and the findings about what was wrong with it."""
    schemas = list_schemas()
    cleaned_config: dict[str, Any] = {}
    findings: list[Finding] = []
    for key, value in config.items():
        if key in READ_ELSEWHERE:
            cleaned_config[key] = value
        elif key not in schemas:
            findings.append(_describe_unread_key(str(key), schemas))
        elif (given := schemas[key].null if value is None else value) is not None:
            cleaned = schemas[key].clean(given, (key,), findings)
            if cleaned is not INVALID:
                cleaned_config[key] = cleaned
    return cleaned_config, findings


def _describe_unread_key(key: str, schemas: Mapping[str, ValueSchema]) -> Finding:
    if key in UNSUPPORTED:
        return Finding((key,), "is not supported", UNSUPPORTED[key], True)
    hint = suggest_nearest(key, [*schemas, *UNSUPPORTED]) or "docs/reference/boot-keys.md lists the known keys"
    return Finding((key,), "is not a known key", hint, True)
