"""A site with Puppet agents moves to Precast: the server knows them by their Puppet certificates and issues ours for these.

A real puppetserver takes minutes to start and is not part of this; the layout is made by hand, by openssl, and where Debian's
ruby-puppetserver-ca-cli is installed by Puppet's own tool, without a server.
"""

import json
import os
import shutil
import ssl
import subprocess
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from lab.puppet_ca import PuppetAuthority
from tests.e2e.precast_command import DEADLINE_S, CommandResult, assert_fine, assert_refused
from tests.e2e.precast_server import Server, precast, running


def init(data: Path, cadir: Path) -> tuple[Server, dict[str, object]]:
    ran = precast("server", "init", "--json", "--data", data, "--import-puppet-ca", cadir)
    assert_fine(ran)
    made = json.loads(ran.out)
    return Server(data, made["token"]), made


def status(server: Server, ssldir: Path, name: str) -> int:
    """The HTTP status of a request with a Puppet agent's own key, certificate and trust."""
    context = ssl.create_default_context(cafile=str(ssldir / "certs/ca.pem"))
    context.load_cert_chain(ssldir / f"certs/{name}.pem", ssldir / f"private_keys/{name}.pem")
    connection = HTTPSConnection("127.0.0.1", server.port, context=context, timeout=DEADLINE_S)
    try:
        connection.request("POST", "/v1/facts", b"")
        return connection.getresponse().status
    finally:
        connection.close()


def adopt(server: Server, root: Path, ssldir: Path, name: str) -> CommandResult:
    return precast("agent", "enrol", "--url", server.url, "--root", root, "--name", name, "--puppet-ssl", ssldir)


@pytest.mark.parametrize("has_intermediate", [True, False])
def test_puppet_agents_are_known_and_move_over(tmp_path: Path, has_intermediate: bool) -> None:
    puppet = PuppetAuthority(tmp_path / "ca", has_intermediate=has_intermediate)
    web = tmp_path / "web"
    puppet.sign(web, "web1.example.com", _1_13="web")
    puppet.sign(tmp_path / "db", "db1.example.com")
    puppet.revoke(puppet.sign(tmp_path / "stolen", "stolen.example.com"))
    puppet.sign(tmp_path / "odd", "ODD")
    site, made = init(tmp_path / "data", puppet.cadir)
    assert (made["imported"], len(made["left_out"])) == (3, 1)  # type: ignore[arg-type]
    puppet.sign(tmp_path / "later", "later.example.com")
    with running(site) as server:
        assert status(server, web, "web1.example.com") == 400
        assert status(server, tmp_path / "stolen", "stolen.example.com") == 401
        # Puppet's authority issued this certificate after the import, so the server does not know it.
        assert status(server, tmp_path / "later", "later.example.com") == 401
        rows = {row["node"]: row for row in server.read("ca", "list")}
        assert rows["web1.example.com"]["extensions"] == {"pp_role": "web"}
        assert rows["stolen.example.com"]["revoked_why"] == "revoked in Puppet"
        # Only the holder of the certificate can use the name.
        token = server.read("token", "enrol", "*", "--uses", "3")["token"]
        assert_refused(server.enrol(tmp_path / "thief", "web1.example.com", token), 73, "CA-005")
        assert_refused(adopt(server, tmp_path / "s", tmp_path / "stolen", "stolen.example.com"), 77, "CA-007")
        assert_refused(adopt(server, tmp_path / "n", tmp_path / "nothing", "x"), 75, "AGENT-004", "certs/x.pem")

        assert_fine(adopt(server, tmp_path / "root", web, "web1.example.com"))
        state = tmp_path / "root/var/lib/precast/agent"
        ours = x509.load_pem_x509_certificate((state / "certificate.pem").read_bytes())
        assert isinstance(ours.public_key(), ec.EllipticCurvePublicKey)
        assert ours.serial_number > 2**64
        assert server.ask("POST", "/v1/facts", node=state).status == 400
        assert [row["extensions"] for row in server.read("ca", "list") if row["node"] == "web1.example.com"] == [
            {"pp_role": "web"}
        ] * 2
        # A new machine enrols without anything from Puppet.
        assert_fine(server.enrol(tmp_path / "new", "new1.example.com", token))
        assert_refused(server.command("ca", "rotate", "--finish"), 73, "CA-013", "db1.example.com")
        assert_fine(adopt(server, tmp_path / "db-root", tmp_path / "db", "db1.example.com"))
        assert server.ask("POST", "/v1/facts", node=tmp_path / "db-root/var/lib/precast/agent").status == 400
        assert_fine(server.command("ca", "rotate", "--finish"))
        assert server.ask("POST", "/v1/facts", node=state).status == 400
        with pytest.raises(ssl.SSLError):
            status(server, web, "web1.example.com")


@pytest.mark.needs("openssl")
def test_authority_made_by_openssl_is_taken_over(tmp_path: Path) -> None:
    ca, agent = tmp_path / "ca", tmp_path / "agent"
    for place in (ca / "signed", agent / "certs", agent / "private_keys"):
        place.mkdir(parents=True)
    (tmp_path / "openssl.cnf").write_text(
        "[ca]\ndefault_ca=own\n[own]\n"
        f"database={ca}/index.txt\nserial={ca}/serial\ncrlnumber={ca}/crlnumber\nnew_certs_dir={ca}/signed\n"
        "default_md=sha256\ndefault_days=1825\ndefault_crl_days=1825\npolicy=any\ncopy_extensions=none\n"
        "unique_subject=no\n[any]\ncommonName=supplied\n"
        "[node]\nbasicConstraints=critical,CA:FALSE\nextendedKeyUsage=critical,serverAuth,clientAuth\n"
        "1.3.6.1.4.1.34380.1.1.13=ASN1:UTF8String:web\n"
        "[req]\ndistinguished_name=dn\n[dn]\n[root]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
        "subjectKeyIdentifier=hash\n"
    )
    (ca / "index.txt").touch()
    (ca / "serial").write_text("0001\n")
    (ca / "crlnumber").write_text("00\n")

    def openssl(*words: str | Path) -> None:
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=DEADLINE_S)

    config = ("-config", tmp_path / "openssl.cnf")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "5475", *config, "-extensions", "root",
            "-subj", "/CN=Puppet CA: puppet", "-keyout", ca / "ca_key.pem", "-out", ca / "ca_crt.pem")  # fmt: skip
    signing = ("-batch", *config, "-cert", ca / "ca_crt.pem", "-keyfile", ca / "ca_key.pem", "-notext")
    for name in ("web1", "gone1"):
        request = tmp_path / f"{name}.csr"
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", *config,
                "-keyout", agent / f"private_keys/{name}.pem", "-out", request)  # fmt: skip
        file = agent / f"certs/{name}.pem"
        openssl("ca", *signing, "-extensions", "node", "-in", request, "-out", file)
        (ca / "signed" / f"{name}.pem").write_bytes(file.read_bytes())
    (agent / "certs/ca.pem").write_bytes((ca / "ca_crt.pem").read_bytes())
    openssl("ca", *signing[:-1], "-revoke", agent / "certs/gone1.pem")
    openssl("ca", *signing[:-1], "-gencrl", "-out", ca / "ca_crl.pem")
    for numbered in (ca / "signed").glob("0*.pem"):
        numbered.unlink()
    site, made = init(tmp_path / "data", ca)
    assert (made["imported"], made["left_out"]) == (2, [])
    with running(site) as server:
        assert status(server, agent, "web1") == 400
        assert status(server, agent, "gone1") == 401
        assert_fine(adopt(server, tmp_path / "root", agent, "web1"))
        assert [row["extensions"] for row in server.read("ca", "list") if row["node"] == "web1"] == [
            {"pp_role": "web"}
        ] * 2


PUPPETS_OWN = """
require 'puppetserver/ca/cli'
exit Puppetserver::Ca::Cli.run(ARGV)
"""


def has_puppets_own() -> bool:
    words = ["ruby", "-e", "require 'puppetserver/ca/cli'"]
    return shutil.which("ruby") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_authority_made_by_puppets_own_tool_is_taken_over(tmp_path: Path) -> None:
    if not has_puppets_own():  # a library, no program: the marker `needs` would not find it
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("needs ruby-puppetserver-ca-cli (Debian)")
    ssldir, name = tmp_path / "ssl", "web1.example.com"
    config = tmp_path / "puppet.conf"
    config.write_text(
        f"[main]\nssldir = {ssldir}\ncadir = {tmp_path}/ca\ncertname = puppet.example.com\nkeylength = 2048\n"
    )
    for words in (
        ["setup", "--certname", "puppet.example.com"],
        ["generate", "--ca-client", "--force", "--certname", name],
    ):
        done = subprocess.run(
            ["ruby", "-e", PUPPETS_OWN, "--", words[0], "--config", str(config), *words[1:]],
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * DEADLINE_S,
        )
        assert done.returncode == 0, done
    site, made = init(tmp_path / "data", tmp_path / "ca")
    assert (made["imported"], made["left_out"]) == (2, [])
    with running(site) as server:
        assert status(server, ssldir, name) == 400
        assert_fine(adopt(server, tmp_path / "root", ssldir, name))
        assert server.ask("POST", "/v1/facts", node=tmp_path / "root/var/lib/precast/agent").status == 400


def test_import_of_an_invalid_authority_leaves_nothing_behind(tmp_path: Path) -> None:
    ran = precast("server", "init", "--data", tmp_path / "data", "--import-puppet-ca", tmp_path)
    assert_refused(ran, 64, "CA-016", "ca_crt.pem")
    assert not (tmp_path / "data").exists()
