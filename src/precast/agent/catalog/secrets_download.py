"""Asks a server for the values of the secrets that a catalog names. Each value is checked: the network process is not trusted."""

import itertools
from collections.abc import Collection

import msgspec

from precast.agent import issues
from precast.agent.catalog.cached_secrets import Values, forbid_core_dumps
from precast.agent.network.http_client import HttpClient
from precast.base import https
from precast.catalog.secret_values import is_value_of
from precast.wire.secrets.delivery import MAX_REFERENCES, SecretsBody, SecretValues

ROUTE = "/v1/secrets"


def download_values(
    refs: Collection[str], known: Values, url: str, client: HttpClient, catalog: str, entry: str = ""
) -> Values:
    """The values of these references in a catalog: those that are known, and the server's for the others.

    Raises the server's error, which is ConflictError RELEASE-007 if the catalog is no longer served; DeniedError AGENT-017 for a value
    that its reference does not name.
    """
    values = {ref: known[ref] for ref in refs if ref in known}
    if refs:
        forbid_core_dumps()
    while missing := sorted(itertools.islice((ref for ref in refs if ref not in values), MAX_REFERENCES)):
        asked = msgspec.json.encode(SecretsBody(catalog, missing, entry))
        received = https.read_answer(url, client.post(url, ROUTE, asked), SecretValues).values
        for value in received:
            if value.ref not in missing or not is_value_of(value.ref, value.salt, value.value):
                raise issues.NOT_AS_NAMED.error(what="the value of a secret", digest=value.ref)
            values[value.ref] = value
        if not received:
            raise issues.NOT_AS_NAMED.error(what="no value of a secret", digest=missing[0])
    return values
