"""`autograder doctor`: what it tries, it tries; what it says is what came of it."""

import functools
import json
import sys

import pytest

from autograder import doctor
from autograder.doctor import Probe, Report, examine, print_report, to_json
from autograder.observe.session import Limits

linux = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox exists on Linux only")


@pytest.fixture(scope="module")
def here():
    return examine()


@pytest.fixture
def with_layers(monkeypatch):
    """A machine on which a pool has these layers only."""
    from autograder.observe import pool

    def have(*layers):
        monkeypatch.setattr(pool, "ZygotePool", functools.partial(pool.ZygotePool, layers=layers))
        monkeypatch.setattr(doctor, "_SLOW", Limits(wall=0.3, total=0.3, cpu=1, memory=64))

    return have


@linux
@pytest.mark.needs_debian("libseccomp2", library="seccomp")
class TestThisMachine:
    def test_everything_holds(self, here):
        assert here.level in ("strong", "strong+")
        assert here.fit
        assert [(probe.name, probe.result) for probe in here.probes if not probe.held] == []
        assert len(here.probes) == 18

    def test_the_level_is_that_of_a_pool(self, here):
        from autograder.observe.pool import ZygotePool

        with ZygotePool() as pool:
            assert here.level == pool.isolation
            assert here.landlock_abi == pool.landlock_abi > 0
            assert tuple(layer.name for layer in here.layers if layer.held) == pool.layers

    def test_as_json(self, here):
        plain = json.loads(to_json(here))
        assert list(plain) == [
            *("schema", "fit", "level", "system", "landlock_abi", "layers", "probes"),
        ]
        assert plain["probes"][0].keys() == {"name", "held", "result", "fix"}
        assert (plain["schema"], plain["fit"]) == (1, True)

    def test_in_words(self, here, capsys):
        print_report(here)
        said = capsys.readouterr().out
        for words in ("read /etc/shadow", "held", f"Landlock ABI {here.landlock_abi}", "Linux"):
            assert words in said
        assert f"Isolation: {here.level}. Fit for submissions" in said
        assert "OPEN" not in said


@linux
class TestWeakMachines:
    def test_without_any_layer_everything_goes_through(self, with_layers):
        """The probes can tell: in a plain process each of them does what it says."""
        with_layers()
        report = examine()
        assert report.level == "none"
        held = {probe.name for probe in report.probes if probe.held}
        # by the modes of files, unless it is root's; by the clock and the pipe of the grader
        assert held <= {"read /etc/shadow", "sleep", "print for ever", *by_modes()}
        assert all(probe.fix for probe in report.probes if not probe.held)

    def test_what_is_missing_is_said_with_its_fix(self, monkeypatch):
        monkeypatch.setattr(doctor, "_SLOW", Limits(wall=0.3, total=0.3, cpu=1, memory=64))
        monkeypatch.setitem(sys.modules, "pyseccomp", None)
        report = examine()
        assert report.level == "none"
        assert not report.fit
        (seccomp,) = [layer for layer in report.layers if layer.name == "seccomp"]
        assert not seccomp.held
        assert seccomp.fix == "pip install 'attention-autograder[instructor]'"
        (fork,) = [probe for probe in report.probes if probe.name == "start a process"]
        # RLIMIT_NPROC stops it too, but not for root
        assert fork.held or fork.fix == seccomp.fix

    def test_a_claim_that_a_probe_belies_is_taken_back(self, with_layers, monkeypatch):
        from autograder.observe import sandbox

        with_layers("rlimits")
        monkeypatch.setattr(sandbox, "level", lambda layers: "strong+")
        assert examine().level == "none"

    def test_a_sandbox_that_does_not_start(self, monkeypatch):
        from autograder.observe import pool, supervisor

        def fail(**options):
            raise supervisor.ZygoteDied("the zygote has died")

        monkeypatch.setattr(pool, "ZygotePool", fail)
        report = examine()
        assert report.level == "none"
        assert report.layers[0].result == "it does not start: the zygote has died"


def by_modes():
    import os

    if os.geteuid() == 0:
        return set()
    return {"trace its parent", "read its parent's environment", "list your home"}


def test_on_another_system(monkeypatch, capsys):
    monkeypatch.setattr(doctor.sys, "platform", "darwin")
    report = examine()
    assert (report.level, report.probes) == ("none", ())
    print_report(report)
    said = " ".join(capsys.readouterr().out.split())
    assert "grade on Linux, for instance in a virtual machine" in said
    assert "code can read your files" in said


@pytest.mark.parametrize(
    ("layer", "why", "fix"),
    [
        ("seccomp", "ModuleNotFoundError: No module named 'pyseccomp'", "[instructor]"),
        ("seccomp", "RuntimeError: Unable to find libseccomp", "apt-get install libseccomp2"),
        ("landlock", "LandlockNotAvailableError: no system call", "kernel of version 5.13"),
        ("landlock", "LandlockDisabledError: at boot", "lsm="),
        ("bubblewrap", "bubblewrap is not installed", "apt-get install bubblewrap"),
        ("bubblewrap", "bwrap: No permissions to create new namespace", "user namespaces"),
        ("user", "only root may read /root", "not needed"),
    ],
)
def test_every_missing_layer_has_a_fix(layer, why, fix):
    assert fix in doctor._fix(layer, why)


def test_marks_in_texts_are_not_markup(capsys):
    probe = Probe("[bold]x[/bold]", False, "[Errno 1] [red]y", "z")
    print_report(Report("none", "Linux", 0, (probe,), ()))
    assert "[bold]x[/bold]" in capsys.readouterr().out
