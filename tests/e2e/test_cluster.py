"""A class on a real Dask cluster: processes are killed, and every result is there once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from distributed import Client, LocalCluster

from autograder import stubs
from autograder.cluster import connecting
from autograder.opening import CannotGrade
from autograder.pack import load_pack
from autograder.run import Run
from benchmarks.course import ROOT, make_class
from tests.e2e.dask_cluster import DaskCluster, wait_until
from tests.hostile.classes import comparable, wait_until_gone
from tests.hostile.world import descendants
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit

PS = "ps1_numpy_attention"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("libseccomp2", library="seccomp"),
]


class Grading:
    """`autograder grade` as a process, for as long as the test lets it live."""

    def __init__(self, submitted: Path, json_file: Path, *options: str) -> None:
        self.json_file = json_file
        self.journal = json_file.with_name(json_file.name + ".journal")
        self.line = [sys.executable, "-m", "autograder.cli", "grade", PS, "--course", str(ROOT)]
        self.line += ["--submitted", str(submitted), "--json", str(json_file), "--seed", "cluster"]
        self.line += ["--no-explain"]  # what is found in time varies
        self.line += ["--progress", "none", *options]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, process: subprocess.Popen[str], count: int) -> None:
        """Until so many results are written down."""
        wait_until(lambda: process.poll() is not None or self.written() >= count, 3600)
        assert process.poll() is None, process.communicate()[1]

    def written(self) -> int:
        try:
            return max(self.journal.read_bytes().count(b"\n") - 1, 0)
        except OSError:
            return 0

    def document(self) -> dict:
        return json.loads(self.json_file.read_text("utf-8"))


def executed(address: str) -> dict[str, int]:
    """How many tasks each worker has done."""
    with Client(address, set_as_default=False) as client:
        return client.run(lambda dask_worker: dask_worker.state.executed_count)


def make_light_class(submitted: Path, count: int) -> None:
    """Every tenth a whole notebook; the others are modules with one exercise, right or wrong."""
    make_class(submitted, count // 10, PS)
    pack = load_pack(ROOT, PS)
    alone = [exercise for exercise in pack.exercises.values() if not exercise.needs]
    rng = random.Random(1)
    for number in range(count - count // 10):
        exercise = rng.choice(alone)
        written = rng.choice([exercise.name, *(known.name for known in exercise.misconceptions)])
        code = stubs.student_code(pack.sources[exercise.name], written, exercise.name)
        folder = submitted / f"module{number:04}" / PS
        folder.mkdir(parents=True)
        (folder / f"{PS}.py").write_text(f"import numpy as np\n\n\n{code}", "utf-8")


def grade_through_kills(tmp_path: Path, count: int) -> tuple[dict, dict[str, int]]:
    """A class on two workers: the client is killed, then a worker, and a fresh one joins.

    Returns the document, and how many batches each worker that is left has done.
    """
    submitted = tmp_path / "submitted"
    on_cluster = Grading(submitted, tmp_path / "cluster.json")

    def no_solutions_left() -> bool:
        found = [name for _, names, _ in os.walk(tmp_path / "dask" / "scratch") for name in names]
        return not any(name.startswith("course-") for name in found)

    with DaskCluster(tmp_path / "dask") as cluster:
        workers = [cluster.start_worker(), cluster.start_worker()]
        on_cluster.line += ["--scheduler", cluster.address]
        client = on_cluster.start()
        on_cluster.wait_for(client, count // 10)
        zygotes = descendants(workers[0].pid) | descendants(workers[1].pid)
        assert len(zygotes) >= 2
        client.kill()
        client.communicate()
        # the scheduler notices, and takes the course from the workers
        assert wait_until_gone(zygotes, 60) == set()
        wait_until(no_solutions_left)

        client = on_cluster.start()
        on_cluster.wait_for(client, count // 2)
        below = descendants(workers[0].pid)
        workers[0].kill()
        workers[0].wait()
        cluster.start_worker()
        _, err = client.communicate()
        assert (client.returncode, err) == (0, "")
        assert wait_until_gone(below) == set()
        done = executed(cluster.address)
        # neither solutions nor zygotes stay behind; a killed worker's folder goes with the next one
        assert no_solutions_left()
        assert [pid for process in cluster.processes for pid in descendants(process.pid)] == []
    return on_cluster.document(), done


def on_this_machine(tmp_path: Path) -> dict:
    alone = Grading(tmp_path / "submitted", tmp_path / "alone.json", "--workers", "2")
    _, err = (process := alone.start()).communicate()
    assert (process.returncode, err) == (0, "")
    return alone.document()


def check(found: dict, tmp_path: Path, count: int) -> None:
    students = [entry["student"] for entry in found["submissions"]]
    assert len(students) == len(set(students)) == count
    assert comparable(found) == comparable(on_this_machine(tmp_path))


def test_two_hundred_submissions_through_kills(tmp_path):
    make_light_class(tmp_path / "submitted", 200)
    found, _ = grade_through_kills(tmp_path, 200)
    check(found, tmp_path, 200)


@pytest.mark.soak
def test_two_thousand_submissions_through_kills(tmp_path, capsys):
    make_class(tmp_path / "submitted", 2000, PS)
    found, done = grade_through_kills(tmp_path, 2000)
    with capsys.disabled():
        print(
            f"\n2000 submissions; batches of the worker that stayed and the one that joined: {done}"
        )
    assert len(done) == 2 and all(done.values())
    check(found, tmp_path, 2000)


# --- a cluster of this machine ----------------------------------------------------------


@pytest.fixture
def course(tmp_path):
    course = make_course(tmp_path / "course")
    for number in range(12):
        submit(course, f"s{number:02}", (RIGHT, SQUARED, "def double(x:\n")[number % 3])
    return course


def test_a_cluster_that_is_started_for_the_run(course, tmp_path, monkeypatch):
    """A worker that dies comes back by itself; nothing is left, and nothing is said of it."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    line = [sys.executable, "-m", "autograder.cli", "grade", NAME, "--course", str(course)]
    line += ["--json", str(tmp_path / "cluster.json"), "--seed", "7", "--workers", "2"]
    line += ["--no-explain"]  # what is found in time varies
    with subprocess.Popen(
        [*line, "--scheduler", "local"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        _, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert [*temporary.iterdir()] == []
    found = json.loads((tmp_path / "cluster.json").read_text("utf-8"))
    alone = Run(
        course,
        NAME,
        seed="7",
        workers=2,
        quiet=True,
        json_file=tmp_path / "alone.json",
        explain=False,
    )
    alone.grade()
    assert comparable(found) == comparable(json.loads((tmp_path / "alone.json").read_text("utf-8")))


class TestWhatIsRefused:
    """One sentence each, which ends with what to do."""

    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch):
        monkeypatch.setattr(connecting, "CONNECT", 0.3)

    @pytest.fixture
    def cluster(self):
        with LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
            yield cluster

    def refusal(self, course, scheduler, **options):
        with pytest.raises(CannotGrade) as caught:
            Run(course, NAME, quiet=True, scheduler=scheduler, **options).grade()
        return str(caught.value)

    @pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1:9", "post://office"])
    def test_an_address_where_nobody_is(self, course, address):
        said = self.refusal(course, address)
        assert said.startswith(f"the cluster {address} cannot be reached (")
        assert said.endswith("such as tcp://host:8786, or use --scheduler local")

    def test_a_cluster_without_workers(self, course, cluster):
        said = self.refusal(course, cluster.scheduler_address)
        assert said == (
            f"the cluster {cluster.scheduler_address} has no workers; start some, with dask worker "
            "ADDRESS --nthreads 1 for each core, and run the same command again"
        )

    def test_a_number_of_workers_for_a_cluster_that_has_its_own(self, course):
        said = self.refusal(course, "tcp://127.0.0.1:9", workers=3)
        assert said.endswith("and a cluster has those that joined it; leave it out")

    def test_workers_that_cannot_isolate(self, course, cluster, monkeypatch):
        monkeypatch.setattr("autograder.opening.STRONG", ())
        cluster.scale(1)
        cluster.wait_for_workers(1)
        said = self.refusal(course, cluster.scheduler_address)
        assert said.startswith(f"no worker of the cluster {cluster.scheduler_address} grades: this")
        assert said.endswith("or trust the code and give --allow-unsandboxed")
        trusted = Run(
            course, NAME, quiet=True, scheduler=cluster.scheduler_address, allow_unsandboxed=True
        )
        assert len(trusted.grade().submissions) == 12

    def test_a_worker_without_this_package(self, course, tmp_path):
        code = (
            "import sys; sys.modules['autograder'] = None; "
            "from distributed.cli.dask_worker import main; main()"
        )
        with DaskCluster(tmp_path / "dask") as cluster:
            cluster.start_worker("-c", code)
            with Client(cluster.address, set_as_default=False) as client:
                client.wait_for_workers(1)
            said = self.refusal(course, str(cluster.scheduler_file))
        assert "has no attention-autograder that grades on clusters (" in said
        assert "install attention-autograder[grading,cluster] " in said
        assert said.endswith(" there, and run the same command again")
