"""Types of modules: the modules' own code under Puppet and our handlers write the same files, report the same, and agree that all is done.

Each case is a list of manifests that are applied one after the other, each twice.
"""

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lab.overlay import OverlayRoot, why_not
from tests.differential.apply.system_roots import MODULES, Event, TwoRoots, meaningful, written_tree

_NOT_HERE = why_not()
pytestmark = [
    pytest.mark.skipif(_NOT_HERE is not None, reason=_NOT_HERE or ""),
    pytest.mark.needs("puppet"),
    pytest.mark.timeout(600),
]
Events = list[list[Event]]


def apply_both(
    base: Path,
    module: str,
    manifests: Sequence[str],
    prepare: Callable[[OverlayRoot], None] = lambda root: None,
    own_form: Sequence[str] = (),
    *,
    is_random: bool = False,
) -> tuple[TwoRoots, Events]:
    """Apply manifests twice each with both programs. The events and everything written must be equal.

    Of random content only the paths are compared. Files in `own_form` are compared line by line without blanks: Puppet writes all of their
    lines anew, in one form.
    """
    if not Path(f"/usr/share/puppet/modules/{module}").exists():
        pytest.skip(f"needs the Debian package of the Puppet module {module}")
    roots = TwoRoots(base, (*MODULES, "stdlib", module))
    for root in roots.both():
        prepare(root)
    twice = [manifest for manifest in manifests for _ in range(2)]
    puppets = roots.by_puppet(twice)
    ours = roots.by_precast(twice)
    assert ours == puppets
    trees = [written_tree(root) for root in roots.both()]
    for tree, root in zip(trees, roots.both(), strict=True):
        for path in own_form:
            lines = (line.replace(" ", "") for line in meaningful(root.read(path)))
            tree[path] = (*tree[path][:2], "\n".join(lines))
    assert list(trees[1]) == list(trees[0])
    if not is_random:
        assert trees[1] == trees[0]
    return roots, ours


def count(events: Events, turn: int) -> int:
    return len(events[turn])


AUGEAS = [
    """
    augeas { 'hosts': context => '/files/etc/hosts', changes => ['set 1/canonical here', 'set 1/alias[1] there'] }
    augeas { 'add a host': context => '/files/etc/hosts', onlyif => "match *[ipaddr = '10.9.8.7'] size == 0",
      changes => ['set 01/ipaddr 10.9.8.7', 'set 01/canonical db.example', 'set 01/alias[1] db', 'set 01/alias[2] db2'] }
    augeas { 'sysctl': context => '/files/etc/sysctl.conf', changes => "set net.ipv4.ip_forward 1\\nset vm.swappiness 10" }
    augeas { 'new file': context => '/files/etc/modprobe.d/new.conf',
      changes => ['set alias[. = "eth7"] eth7', 'set alias[. = "eth7"]/modulename off'] }
    augeas { 'whole tree': changes => ["set /files/etc/fstab/01/spec tmpfs", "set /files/etc/fstab/01/file /mnt/x",
      "set /files/etc/fstab/01/vfstype tmpfs", "set /files/etc/fstab/01/opt[1] size", "set /files/etc/fstab/01/opt[1]/value 1m",
      "set /files/etc/fstab/01/dump 0", "set /files/etc/fstab/01/passno 0"],
      onlyif => "match /files/etc/fstab/*[file = '/mnt/x'] size == 0" }
    augeas { 'by lens': incl => '/etc/own.conf', lens => 'Shellvars.lns', changes => ['set A 1', 'set B two'] }
    augeas { 'ini': incl => '/etc/own.ini', lens => 'Puppet.lns', changes => ['set main/server a', 'set agent/server b', 'rm main/gone'] }
    augeas { 'never': context => '/files/etc/hosts', changes => 'set 1/canonical never', onlyif => 'get 1/ipaddr != 127.0.0.1' }
    augeas { 'broken': context => '/files/etc/hosts', changes => 'set 1/ipaddr "not an address"' }
    augeas { 'no lens': incl => '/etc/hosts', lens => 'Nobodys.lns', changes => 'set 1/ipaddr 10.0.0.1' }
    """,
    """
    augeas { 'remove': context => '/files/etc/hosts', changes => ["rm *[canonical = 'db.example']/alias[1]"],
      onlyif => "values */canonical include db.example" }
    augeas { 'insert': context => '/files/etc/own.ini', incl => '/etc/own.ini', lens => 'Puppet.lns',
      changes => ['ins environment before main/server', 'set main/environment test'], onlyif => 'match main/environment size == 0' }
    augeas { 'many': context => '/files/etc/modprobe.d/new.conf', changes => ['setm alias modulename on', 'clearm alias[. = "none"] x'] }
    augeas { 'move': context => '/files/etc/sysctl.conf', changes => ['mv vm.swappiness vm.other', 'rename vm.other vm.third'],
      onlyif => 'match vm.swappiness size > 0' }
    augeas { 'variables': context => '/files/etc/hosts', changes => ["defvar db *[canonical = 'db.example']",
      'set $db/ipaddr 10.9.8.8', "defnode six *[canonical = 'six'] ''", 'set $six/ipaddr ::6', 'set $six/canonical six'] }
    augeas { 'comment': incl => '/etc/own.conf', lens => 'Shellvars.lns', changes => ["set '#comment[1]' 'a comment'"],
      onlyif => "match B size == 1" }
    augeas { 'list': context => '/files/etc/hosts', changes => 'set 1/canonical list',
      onlyif => "values 1/alias == ['there']" }
    """,
]


@pytest.mark.skipif(not Path("/usr/share/augeas/lenses/dist").is_dir(), reason="needs augeas-lenses and libaugeas0")
def test_augeas_writes_what_puppets_provider_writes(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        root.write("/etc/hosts", "127.0.0.1  localhost\n# a comment\n192.0.2.7 other   # more\n")
        root.write("/etc/modprobe.d/old.conf", "alias x none\n")
        root.write("/etc/own.conf", "# first\nA=0\n\nexport Z=1\n")
        root.write("/etc/own.ini", "[main]\nserver = x\n  gone = 1\n")
        root.write("/etc/fstab", "/dev/sda1 / ext4 defaults 0 1\n", 0o600)

    _, events = apply_both(
        tmp_path, "augeas_core", AUGEAS, prepare
    )  # without `force`, which fails in this version of the provider
    assert count(events, 0) == 7
    assert count(events, 1) == 0


MAILALIASES = [
    """
    mailalias { 'root': recipient => ['admin@example.com', 'other'] }
    mailalias { 'list': file => '/etc/list' }
    mailalias { 'pipe': ensure => present, recipient => ['|/usr/bin/filter -x', 'local'] }
    mailalias { 'gone': ensure => absent }
    mailalias { 'same': recipient => 'someone' }
    mailalias { 'elsewhere': recipient => 'x', target => '/etc/aliases.d/other' }
    mailalias { 'changed': recipient => ['c', 'b'] }
    """,
    """
    mailalias { 'root': recipient => 'admin@example.com' }
    mailalias { 'pipe': ensure => absent }
    mailalias { 'changed': recipient => 'd' }
    """,
]


def test_mailaliases_come_out_alike(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        root.write(
            "/etc/aliases", '# aliases\ngone: x\nsame:   someone\n\nchanged: a, "b c"\nnews: :include: /etc/news\n'
        )
        root.write("/etc/aliases.d/other", "y: z\n")  # a new file gets mode 0600 from Puppet, and 0644 from us

    _, events = apply_both(
        tmp_path, "mailalias", MAILALIASES, prepare, own_form=("/etc/aliases", "/etc/aliases.d/other")
    )
    assert [count(events, turn) for turn in range(4)] == [6, 0, 3, 0]


SYSCTL = [
    """
    sysctl { 'net.ipv4.ip_forward': val => '1' }
    sysctl { 'vm.swappiness': ensure => present, val => 10 }
    sysctl { 'kernel.sysrq': ensure => absent }
    sysctl { 'kernel.domainname': val => 'a=b' }
    sysctl { 'net.core.x': val => "1\t2" }
    sysctl_runtime { 'kernel.ostype': val => 'Linux' }
    sysctl_runtime { 'kernel.nobodys': val => '1' }
    """,
    "sysctl { 'net.ipv4.ip_forward': val => '0' } sysctl { 'net.core.x': ensure => absent }",
]


def test_kernel_parameters_come_out_alike(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        root.write(
            "/etc/sysctl.conf", "# first\nkernel.sysrq = 1\n#vm.swappiness=5\nkernel.domainname=a=b\n\nother = 2\n"
        )

    _, events = apply_both(tmp_path, "sysctl", SYSCTL, prepare, own_form=("/etc/sysctl.conf",))
    assert count(events, 2) == 2


def subsetting(title: str, setting: str, item: str, **more: str | bool) -> str:
    given = "".join(
        f", {name} => {value!r}" if isinstance(value, str) else f", {name} => true" for name, value in more.items()
    )
    return f"ini_subsetting {{ '{title}': path => '/etc/s.conf', setting => '{setting}', subsetting => '{item}'{given} }}\n"


ARCHIVES = [
    """
    file { ['/srv/out', '/srv/user']: ensure => directory, owner => 'nobody' }
    archive { '/srv/a.tar.gz': source => 'file:///srv/in.tar.gz', extract => true, extract_path => '/srv/out',
      creates => '/srv/out/app/one' }
    archive { '/srv/kept.tgz': source => '/srv/in.tar.gz', extract => true, extract_path => '/srv/out', cleanup => false,
      creates => '/srv/out/app/two', checksum => 'SHA256', checksum_type => 'sha256' }
    archive { '/srv/new/dir/only.bin': source => '/srv/secret.bin' }
    archive { '/srv/wrong.bin': source => '/srv/secret.bin', checksum => '00000000', checksum_type => 'md5' }
    archive { '/srv/none.bin': source => '/srv/no.bin' }
    archive { '/srv/own.x': source => '/srv/in.tar.gz', extract => true, extract_path => '/srv/user', user => 'nobody',
      group => 'nogroup', extract_command => 'tar xzf %s --strip-components=1', creates => '/srv/user/one' }
    archive { '/srv/flags.tar.gz': source => '/srv/in.tar.gz', extract => true, extract_path => '/srv/out',
      extract_flags => { 'tar' => '--transform=s/app/flags/ -xzf' }, creates => '/srv/out/flags/one', require => File['/srv/out'] }
    archive { '/srv/gone.bin': ensure => absent }
    archive { '/srv/by-ruby.bin': source => '/srv/secret.bin', download_options => ['-k'] }
    """,
    """
    file { '/srv/out/app/two': ensure => absent }
    -> archive { '/srv/kept.tgz': source => '/srv/in.tar.gz', extract => true, extract_path => '/srv/out', cleanup => false,
      creates => '/srv/out/app/three' }
    archive { '/srv/new/dir/only.bin': source => '/srv/secret.bin', checksum => 'MD5', checksum_type => 'md5' }
    archive { '/srv/old.bin': source => '/srv/secret.bin', checksum => 'MD5', checksum_type => 'md5' }
    """,
]


def test_archives_come_out_alike(tmp_path: Path) -> None:
    content = tmp_path / "content"
    (content / "app").mkdir(parents=True)
    for name in ("one", "two"):
        (content / "app" / name).write_text(name)
    subprocess.run(["tar", "czf", "in.tar.gz", "--mtime=2020-01-01", "app"], cwd=content, check=True)
    packed = (content / "in.tar.gz").read_bytes()

    def prepare(root: OverlayRoot) -> None:
        root.write("/srv/secret.bin", "secret", 0o640)
        root.write("/srv/gone.bin", "x")
        root.write("/srv/old.bin", "old")
        root.written("/srv/in.tar.gz").write_bytes(packed)

    digests = {"SHA256": hashlib.sha256(packed).hexdigest(), "MD5": hashlib.md5(b"secret").hexdigest()}
    manifests = [text.replace("SHA256", digests["SHA256"]).replace("MD5", digests["MD5"]) for text in ARCHIVES]
    _, events = apply_both(tmp_path, "archive", manifests, prepare)
    assert count(events, 0) > 7


SUBSETTINGS = [
    subsetting("a", "JAVA", "-Xmx", section="", key_val_separator="=", value="512m")
    + subsetting("b", "JAVA", "-Dx", section="", key_val_separator="=", subsetting_key_val_separator="=", value="y")
    + subsetting("c", "JAVA", "-server", section="", key_val_separator="=", use_exact_match=True, insert_type="start")
    + subsetting("d", "list", "two", section="s", subsetting_separator=",", insert_type="before", insert_value="three")
    + subsetting("e", "list", "nine", section="s", subsetting_separator=",", insert_type="index", insert_value="1")
    + subsetting("f", "list", "last", section="s", subsetting_separator=",", insert_type="after", insert_value="none")
    + subsetting("g", "gone", "only", section="s", ensure="absent")
    + subsetting("h", "some", "x", section="s", ensure="absent")
    + subsetting("i", "fresh", "v=", section="new", value="1", quote_char='"')
    + subsetting("j", "quoted", "-b", section="s", value="7"),
    subsetting("a", "JAVA", "-Xmx", section="", key_val_separator="=", value="1g", show_diff="md5")
    + subsetting("i", "fresh", "v=", section="new", value="2")
    + subsetting("g", "fresh", "w", section="new", value="2"),
]


def test_subsettings_come_out_alike(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        text = "JAVA=\"-Xmx256m  -Da=b\"\n[s]\nlist = one,three\ngone = only\nsome = x y x\nquoted = '-a -b3'\n"
        root.write("/etc/s.conf", text)

    _, events = apply_both(tmp_path, "inifile", SUBSETTINGS, prepare)
    assert count(events, 0) == 10


TIDY = [
    """
    file { '/srv/t/keep.log': ensure => file }
    tidy { '/srv/t': recurse => true, matches => ['*.log', '[^a]?.tmp'], age => '1w' }
    tidy { '/srv/size': recurse => 1, size => '2k' }
    tidy { '/srv/dirs': recurse => true, rmdirs => true, age => '2d', type => mtime }
    tidy { '/srv/one': }
    tidy { '/srv/none': recurse => true }
    tidy { '/srv/either': recurse => inf, age => '0', size => '1t' }
    """
]


def test_files_are_tidied_alike(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        for path in ("t/a.log", "t/keep.log", "t/.b.log", "t/bc.tmp", "t/ab.tmp", "t/sub/c.log", "t/d.txt", "one"):
            root.write(f"/srv/{path}", "x")
        for path, size in (("size/a", 2048), ("size/b", 2047), ("size/c/d", 5000), ("either/a", 1), ("either/b/c", 1)):
            root.write(f"/srv/{path}", "x" * size)
        for path in ("dirs/a/b", "dirs/a/c", "dirs/d/e"):
            root.write(f"/srv/{path}", "x")
        root.write("/srv/t/young.log", "x")
        old_s = time.time() - 30 * 86400
        for place in sorted(root.written("/srv").rglob("*"), reverse=True):
            if place.name not in ("young.log", "c") and not (place.is_dir() and place.name in ("t", "size", "dirs")):
                os.utime(place, (old_s, old_s))

    _, events = apply_both(tmp_path, "stdlib", TIDY, prepare)
    assert count(events, 0) > 8
    assert count(events, 1) == 0


ALTERNATIVES = [
    """
    alternative_entry { '/opt/one': altlink => '/usr/bin/pc-alt', altname => 'pc-alt', priority => 10 }
    alternative_entry { '/opt/two:/usr/bin/pc-alt': ensure => present, altname => 'pc-alt', priority => '20' }
    alternative_entry { '/opt/none': altlink => '/usr/bin/pc-none', altname => 'pc-none', priority => 1 }
    alternative_entry { '/opt/gone': ensure => absent, altlink => '/usr/bin/pc-alt', altname => 'pc-alt', priority => 1 }
    alternatives { 'pc-alt': path => '/opt/one', require => Alternative_entry['/opt/one', '/opt/two:/usr/bin/pc-alt'] }
    """,
    """
    alternative_entry { '/opt/one': altlink => '/usr/bin/pc-alt', altname => 'pc-alt', priority => 30 }
    alternative_entry { '/opt/two:/usr/bin/pc-alt': ensure => absent, altname => 'pc-alt', priority => '20' }
    -> alternatives { 'pc-alt': mode => 'auto' }
    """,
    "alternatives { 'pc-alt': mode => 'manual' }",
]


@pytest.mark.skipif(not Path("/var/lib/dpkg/alternatives").is_dir(), reason="needs dpkg")
def test_alternatives_come_out_alike(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        for name in ("one", "two"):
            root.write(f"/opt/{name}", "#!/bin/sh\n", 0o755)

    _, events = apply_both(tmp_path, "alternatives", ALTERNATIVES, prepare)
    assert count(events, 0) > 3
    assert count(events, 3) == 0


CERTIFICATES = [
    """
    ssl_pkey { '/srv/new.key': ensure => present, size => 1024 }
    ssl_pkey { '/srv/locked.key': ensure => present, size => 1024, password => 'geheim' }
    ssl_pkey { '/srv/a.key': ensure => present }
    ssl_pkey { '/srv/gone.key': ensure => absent }
    x509_cert { '/srv/a.crt': ensure => present, template => '/srv/a.cnf', days => 10 }
    x509_cert { '/srv/other.crt': ensure => present, template => '/srv/a.cnf', private_key => '/srv/a.key', req_ext => true }
    x509_cert { '/srv/bare.crt': ensure => present, template => '/srv/a.cnf', private_key => '/srv/a.key', req_ext => false }
    x509_cert { '/srv/locked.crt': ensure => present, template => '/srv/a.cnf', password => 'geheim' }
    x509_cert { '/srv/nokey.crt': ensure => present, template => '/srv/a.cnf' }
    x509_request { '/srv/a.csr': ensure => present }
    """,
    """
    x509_cert { '/srv/a.crt': ensure => present, template => '/srv/a.cnf', private_key => '/srv/new.key' }
    x509_cert { '/srv/other.crt': ensure => present, template => '/srv/a.cnf', private_key => '/srv/new.key', force => true }
    x509_request { '/srv/a.csr': ensure => present, private_key => '/srv/new.key', force => true }
    ssl_pkey { '/srv/new.key': ensure => absent, require => [X509_cert['/srv/a.crt'], X509_request['/srv/a.csr']] }
    """,
]
TEMPLATE = "[req]\nprompt = no\ndistinguished_name = dn\nreq_extensions = req_ext\n[dn]\nCN = here\n[req_ext]\nsubjectAltName = DNS:there\n"


@pytest.mark.needs("openssl")
def test_keys_and_certificates_come_out_alike(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        root.write("/srv/a.cnf", TEMPLATE)
        root.write("/srv/gone.key", "x")
        root.write("/srv/a.key", key)

    key = subprocess.run(["openssl", "genrsa", "1024"], capture_output=True, text=True, check=True).stdout
    roots, events = apply_both(tmp_path, "openssl", CERTIFICATES, prepare, is_random=True)
    assert count(events, 0) == 9
    for name in ("other.crt", "locked.crt", "bare.crt"):
        texts = [_describe(root.written(f"/srv/{name}")) for root in roots.both()]
        assert texts[0] == texts[1]


def _describe(certificate: Path) -> str:
    """What a certificate says, apart from what is random: names and extensions."""
    command = ["openssl", "x509", "-in", str(certificate), "-noout", "-subject", "-issuer", "-ext", "subjectAltName"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


DATACAT = [
    """
    datacat { '/srv/list': template_body => '<% @data["ports"].sort.each do |port| -%>
port <%= port %>
<% end -%>
<%= @data["name"] %> <%= @data["deep"]["b"] %>', mode => '0640' }
    datacat_fragment { 'one': target => '/srv/list', data => { 'ports' => [80, 443], 'name' => 'first', 'deep' => { 'a' => 1 } } }
    datacat_fragment { 'two': target => ['/srv/list', 'other'], order => '10', data => { 'ports' => [22], 'name' => 'second',
      'deep' => { 'b' => 'x' } } }
    datacat_fragment { 'three': target => 'more', data => { 'name' => 'third' } }
    file { '/srv/key': content => 'to be replaced' }
    datacat_collector { 'by key': path => 'other', collects => ['more'], target_resource => File['/srv/key'], target_field => 'content',
      source_key => 'name', before => File['/srv/key'] }
    datacat_collector { 'broken': target_resource => File['/srv/key2'], target_field => 'content', template_body => '<%= @data.nope.x %>',
      before => File['/srv/key2'] }
    file { '/srv/key2': content => 'never' }
    datacat { '/srv/gone': ensure => absent }
    """
]


def test_collected_data_comes_out_alike(tmp_path: Path) -> None:
    def prepare(root: OverlayRoot) -> None:
        root.write("/srv/gone", "x")

    roots, events = apply_both(tmp_path, "datacat", DATACAT, prepare)
    assert count(events, 0) == 3
    assert roots.precast.read("/srv/list") == "port 22\nport 80\nport 443\nfirst x"
    assert roots.precast.read("/srv/key") == "third"


APT_KEYS = [
    """
    apt_key { 'FIRST': ensure => present, source => '/srv/first.asc' }
    apt_key { 'SECOND': ensure => present, content => 'KEY' }
    apt_key { 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA': ensure => present, content => 'KEY' }
    apt_key { 'BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB': ensure => absent }
    """,
    "apt_key { 'FIRST': ensure => absent }",
]


@pytest.mark.needs("apt-key")
@pytest.mark.needs("gpg")
def test_keys_of_apt_come_out_alike(tmp_path: Path) -> None:
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    keys: dict[str, str] = {}
    for name in ("first", "second"):
        gpg = ["gpg", "--homedir", str(home), "--batch", "--passphrase", ""]
        subprocess.run([*gpg, "--quick-gen-key", name, "rsa2048", "sign", "never"], check=True, capture_output=True)
        listed = subprocess.run(
            [*gpg, "--with-colons", "--list-keys", name], check=True, capture_output=True, text=True
        ).stdout
        fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))
        keys[fingerprint] = subprocess.run(
            [*gpg, "--armor", "--export", name], check=True, capture_output=True, text=True
        ).stdout
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True, capture_output=True)

    def prepare(root: OverlayRoot) -> None:
        root.write("/srv/first.asc", keys[first])

    first, second = keys
    manifests = [
        text.replace("FIRST", first).replace("SECOND", second).replace("KEY", keys[second]) for text in APT_KEYS
    ]
    roots, events = apply_both(tmp_path, "apt", manifests, prepare, is_random=True)
    assert [count(events, turn) for turn in range(4)] == [3, 1, 1, 0]
    for root in roots.both():
        listed = root.run(["apt-key", "adv", "--no-tty", "--list-keys", "--with-colons"]).stdout
        assert (first in listed, second in listed) == (False, True)
