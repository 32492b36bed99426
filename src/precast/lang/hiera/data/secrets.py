"""Levels of a hierarchy whose data is in a secret source of the server: `precast::secrets`, and the options of `hiera_vault`.

hiera.yaml names a source and paths in it. Where the source is, and which environments may read which of its paths, is a matter of the
server's configuration: an address or a token in hiera.yaml is not used. Every value is Sensitive.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from precast.lang.hiera.config import SECRETS, VAULT
from precast.lang.hiera.keys import OPTIONS, Key
from precast.lang.hiera.locations import Location, open_path
from precast.lang.inputs import ABSENT, OpenPath
from precast.lang.issues import secrets as issues
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash, Sensitive, from_data, to_string
from precast.lang.values.regexps import compile_regexp
from precast.lang.values.unknowns import join

if TYPE_CHECKING:
    from precast.lang.functions.host import Host
    from precast.lang.hiera.layers import Layer

# Options of hiera_vault that say where Vault is and how to log in to it: the server's configuration says that.
_CONNECTION: Final = re.compile(
    r"address|token|authentication|ssl_|role|auth_|continue_if_not_found|strict_mode|v1_|v2_"
)


def find_secret(layer: "Layer", options: Hash, location: Location | None, key: Key) -> Any:
    """The value that a source has for a key, as a field of the document at the location; MISSING if there is none."""
    source = options.get("source")
    if location is None or not isinstance(source, str):
        reason = "the level needs path or paths, and options with the name of a source"
        raise issues.BAD_BACKEND.error(path=layer.config.path, function=SECRETS, reason=reason)
    return MISSING if key.root == OPTIONS else _find_field(layer.lookups.host, source, location.path, key.root)


def find_in_vault(layer: "Layer", options: Hash, key: Key) -> Any:
    """The value for a key where hiera_vault looks: MOUNT/PATH/KEY, in each mount of the options and each of its paths.

    A mount is the source of that name. Raises SECRET-032 for options that have no meaning here.
    """
    host, vault = layer.lookups.host, _VaultOptions.read(layer, options)
    if key.root == OPTIONS or (vault.confined and not any(regexp.search(key.root) for regexp in vault.confined)):
        return MISSING
    name = key.root
    for regexp in vault.stripped:
        name = regexp.sub("", name)
    for mount, paths in vault.mounts.items():
        for path in paths if isinstance(paths, tuple) else (paths,):
            value = _find_vault_value(host, vault, to_string(mount), open_path(join((path, "/", name))))
            if value is not MISSING:
                return value
    return MISSING


class _VaultOptions(NamedTuple):
    """The options of hiera_vault that select a value."""

    mounts: Hash
    default_field: str
    only_default: bool
    is_json: bool
    confined: tuple[re.Pattern[str], ...]
    stripped: tuple[re.Pattern[str], ...]

    @staticmethod
    def read(layer: "Layer", options: Hash) -> "_VaultOptions":
        mounts = options.get("mounts")
        if not isinstance(mounts, Hash) or not mounts:
            reason = "options needs mounts: for each secret source, the paths in it"
            raise issues.BAD_BACKEND.error(path=layer.config.path, function=VAULT, reason=reason)
        unused = sorted(str(name) for name in options if _CONNECTION.match(str(name)))
        if unused:
            words = ", ".join(unused)
            layer.lookups.host.warn_once(
                VAULT, f"{layer.config.path}: {VAULT}: the server's configuration decides about {words}: remove it"
            )
        return _VaultOptions(
            mounts,
            to_string(options.get("default_field") or ""),
            options.get("default_field_behavior") == "only",
            options.get("default_field_parse") == "json",
            _patterns(options.get("confine_to_keys")),
            _patterns(options.get("strip_from_keys")),
        )


def _patterns(given: Any) -> tuple[re.Pattern[str], ...]:
    texts = given if isinstance(given, tuple) else (given,) if isinstance(given, str) else ()
    return tuple(compile_regexp(to_string(text)) for text in texts)


def _find_vault_value(host: "Host", vault: _VaultOptions, source: str, path: OpenPath) -> Any:
    if not vault.default_field:
        return _find_field(host, source, path, "")
    if not vault.only_default:
        return _parsed(vault, _find_field(host, source, path, vault.default_field))
    whole = _find_field(host, source, path, "")
    if whole is MISSING:
        return MISSING
    fields = whole.unwrap()
    return _parsed(vault, Sensitive(fields[vault.default_field])) if tuple(fields) == (vault.default_field,) else whole


def _parsed(vault: _VaultOptions, value: Any) -> Any:
    """A text as the JSON that it is, if the options say so; a text that is no JSON stays as it is, as in hiera_vault."""
    if not vault.is_json or value is MISSING or not isinstance(value.unwrap(), str):
        return value
    try:
        return Sensitive(from_data(json.loads(value.unwrap())))
    except (ValueError, RecursionError):
        return value


def _find_field(host: "Host", source: str, path: OpenPath, field: str) -> Any:
    if not host.inputs.has_secrets(source, path):
        return MISSING
    value = host.inputs.secret(source, path, field)
    return MISSING if value is ABSENT else Sensitive(from_data(value))
