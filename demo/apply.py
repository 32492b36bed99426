"""Apply: runs bring a machine (a directory) to its desired state; a no-op run, a corrective change, and a run that is killed."""

import signal
import subprocess

from demo.presenter import PRECAST, DemoFailed, Presenter

MACHINE = "machine"
SITE = """\
class web($port) {
  file { '/etc': ensure => directory }
  file { '/etc/web.conf': content => "port = ${port}\\n", mode => '0640' }
  file { '/etc/web.d': ensure => directory, recurse => true, purge => true }
  file { '/etc/web.d/site.conf': content => "root = /srv\\n" }
}
class { 'web': port => 8080 }
notify { 'web is ready': require => Class['web'] }
"""
FILES = 300


def show(presenter: Presenter) -> None:
    presenter.title("Apply: reach the desired state, and do nothing twice")
    (presenter.directory / MACHINE / "etc" / "web.d").mkdir(parents=True)
    (presenter.directory / MACHINE / "etc" / "web.d" / "stray.conf").write_text("no resource manages this file\n")
    (presenter.directory / "site.pp").write_text(SITE)
    words = ("apply", "site.pp", "--root", MACHINE)
    presenter.run(*words, "--noop")
    presenter.claim("the no-op run changed nothing", not (presenter.directory / MACHINE / "etc/web.conf").exists())
    presenter.run(*words)
    again = presenter.ask(*words)["summary"]
    presenter.claim("the second run finds every file in sync", again["changed"] == 1 and again["unchanged"] == 4)
    (presenter.directory / MACHINE / "etc/web.conf").write_text("port = 80\n")
    presenter.event("an operator edits /etc/web.conf by hand")
    presenter.run(*words)
    crash(presenter)


def crash(presenter: Presenter) -> None:
    """Kill a run in the middle. No file is half written, and the next run finishes the work."""
    code = ["file { '/many': ensure => directory }"]
    code += [f"file {{ '/many/{n}': content => '{f'line of {n} ' * 500}end' }}" for n in range(FILES)]
    (presenter.directory / "many.pp").write_text("\n".join(code))
    words = ["apply", "many.pp", "--root", MACHINE]
    with subprocess.Popen([PRECAST, *words], cwd=presenter.directory, stdout=subprocess.PIPE) as run:
        if run.stdout is None or not all(run.stdout.readline() for _ in range(FILES // 3)):
            raise DemoFailed("the run printed no changes")
        run.send_signal(signal.SIGKILL)
    # A file that was being written at the kill still has its temporary name; the next run deletes it.
    many = presenter.directory / MACHINE / "many"
    contents = [path.read_text() for path in many.iterdir() if not path.name.startswith(".precast-")]
    presenter.event(f"kill -9 after {len(contents)} of {FILES} files")
    presenter.claim(
        f"none of the {len(contents)} files is half written", all(text.endswith("end") for text in contents)
    )
    finished = presenter.ask(*words)["summary"]
    missing = FILES - len(contents)
    presenter.claim(
        f"the next run wrote the other {missing} files and changed nothing else", finished["changed"] == missing
    )
    in_sync = presenter.ask(*words)["summary"]
    presenter.claim(
        f"the run after that checked {in_sync['resources']} resources in {in_sync['seconds']:.2f} s: all in sync",
        in_sync["unchanged"] == FILES + 1,
    )
