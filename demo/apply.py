"""Apply: a machine (a directory stands for it) is brought to what a manifest wants; what a run would do, did, and what a kill leaves."""

import signal
import subprocess

from demo.stage import PRECAST, DemoFailed, Stage

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


def show(stage: Stage) -> None:
    stage.title("Apply: a machine as wanted, and nothing done twice")
    (stage.directory / MACHINE / "etc" / "web.d").mkdir(parents=True)
    (stage.directory / MACHINE / "etc" / "web.d" / "stray.conf").write_text("nobody wants this\n")
    (stage.directory / "site.pp").write_text(SITE)
    words = ("apply", "site.pp", "--root", MACHINE)
    stage.run(*words, "--noop")
    stage.claim("a no-op run has changed nothing", not (stage.directory / MACHINE / "etc/web.conf").exists())
    stage.run(*words)
    again = stage.ask(*words)["summary"]
    stage.claim("a second run finds everything as wanted", again["changed"] == 1 and again["unchanged"] == 4)
    (stage.directory / MACHINE / "etc/web.conf").write_text("port = 80\n")
    stage.event("somebody edits /etc/web.conf by hand")
    stage.run(*words)
    crash(stage)


def crash(stage: Stage) -> None:
    """Kill a run in the middle; nothing is half written, and the next one finishes."""
    code = ["file { '/many': ensure => directory }"]
    code += [f"file {{ '/many/{n}': content => '{f'line of {n} ' * 500}end' }}" for n in range(FILES)]
    (stage.directory / "many.pp").write_text("\n".join(code))
    words = ["apply", "many.pp", "--root", MACHINE]
    with subprocess.Popen([PRECAST, *words], cwd=stage.directory, stdout=subprocess.PIPE) as run:
        if run.stdout is None or not all(run.stdout.readline() for _ in range(FILES // 3)):
            raise DemoFailed("the run told of no changes")
        run.send_signal(signal.SIGKILL)
    # What was being written has a temporary name yet; the next run sweeps it away.
    there = [path for path in (stage.directory / MACHINE / "many").iterdir() if not path.name.startswith(".precast-")]
    made = [path.read_text() for path in there]
    stage.event(f"kill -9 after {len(made)} of {FILES} files")
    stage.claim(f"none of the {len(made)} is half written", all(text.endswith("end") for text in made))
    finished = stage.ask(*words)["summary"]
    left = FILES - len(made)
    stage.claim(f"the next run made the other {left} and touched nothing else", finished["changed"] == left)
    nothing = stage.ask(*words)["summary"]
    stage.claim(
        f"and the one after that looked at {nothing['resources']} resources in {nothing['seconds']:.2f} s",
        nothing["unchanged"] == FILES + 1,
    )
