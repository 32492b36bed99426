"""Redaction removes secrets from texts of other programs and keeps the rest."""

import time

import pytest

from precast.base.redaction import redact

ID = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.mark.parametrize(
    "text",
    [
        f"token pcu1.{ID}.geheimgeheim shown",
        f"pce1.{ID}.geheimgeheim.sha256:00ff",
        "-----BEGIN EC PRIVATE KEY-----\ngeheim\ngeheim\n-----END EC PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ngeheim\ngeheim",
        "geheim\ngeheim=\n-----END PRIVATE KEY-----\nrest",
        "postgresql://precast:geheim@db/precast",
        "postgresql://precast:ge@he/geheim@db/precast",
        "Authorization: Bearer geheimgeheim",
        "authorization: basic Z2VoZWltgeheim==",
        "password=geheim",
        "PGPASSWORD=geheim precast db check",
        "db_password: geheim,",
        '{"password": "geheim", "x": 1}',
        '{"password": "ge\\"geheim"}',
        "secret = 'geheim'",
        "--token geheim".replace(" ", "="),
        "api_key: geheim",
        '{"__ptype": "Sensitive", "__pvalue": "geheim"}',
        "Sensitive('geheim')",
        'Sensitive.new("geheim")',
        "PRECAST_ENROL_TOKEN=geheim",
        "x" * 100 + "_token_id=geheim",
    ],
)
def test_secret_is_removed(text: str) -> None:
    assert "geheim" not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "node web1.example.com enrolled",
        "https://precast.example.com:8140/v1/nodes",
        '{"kind": "facts", "waiting": 3}',
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "2026-11-15T22:00:00+0000 host precast[1]: served GET /v1/tokens",
        '{"tokens": [1, 2], "secrets": {"a": 1}}',
    ],
)
def test_rest_stays_as_it_was(text: str) -> None:
    assert redact(text) == text


def test_what_was_json_is_still_json() -> None:
    assert redact('{"token": "x", "b": 1}') == '{"token": "(removed)", "b": 1}'


@pytest.mark.parametrize(
    "text", ["a.b-" * 200_000, "token" * 100_000, '"' * 300_000, "://x:" * 20_000, "Sensitive(" * 20_000]
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 20
