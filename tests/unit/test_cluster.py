"""Grading over Dask: what is sent where, and that each result is taken once, whatever happens.

The cluster here is made up, one step at a time; tests/e2e/test_cluster.py has real ones.
"""

import queue
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import chain
from types import SimpleNamespace

import msgspec
import pytest
from distributed import KilledWorker
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.cluster import connecting, hosting, stream
from autograder.cluster.hosting import Report, grade_batch
from autograder.cluster.parcels import Course, Graded, items, packed, unpacked, versions
from autograder.cluster.stream import AHEAD, MOST_DEATHS, Stream
from autograder.grading import DEFAULT_LIMITS, Assignment, Earlier, grade_submission, ungraded
from autograder.opening import CannotGrade
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An assignment and forty submissions to it."""
    course = make_course(tmp_path_factory.mktemp("course"))
    folders = {f"s{n:02}": submit(course, f"s{n:02}", RIGHT) for n in range(40)}
    return course, Assignment.load(course, NAME, "1"), folders


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(stream, "LOOK", 0.0)
    monkeypatch.setattr(stream, "PATIENCE", 0.05)


class Future:
    """What Dask gives for a task that was sent."""

    def __init__(self, key, batch):
        self.key, self.batch, self.status = key, batch, "pending"
        self.released = False

    def add_done_callback(self, call):
        self.call = call

    def end(self, status, value=None):
        self.status, self.value = status, value
        self.call(self)

    def result(self, timeout):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value

    def exception(self):
        return self.value

    def release(self):
        self.released = True


class Cluster:
    """Workers that do one task at each look; it notes what happened.

    killers: students whose submission ends any worker that touches it. script: by step, the
    address of a worker that is killed from outside and joined by another.
    """

    name = "the cluster of the test"

    def __init__(self, assignment, addresses=("a", "b"), killers=(), script=None, threads=1):
        self.assignment = assignment
        self.client = self
        self.per_worker = threads
        self.tasks = {address: [] for address in addresses}
        self.placed = dict.fromkeys(addresses, Report("ready", "token", "strong"))
        self.killers, self.script = set(killers), dict(script or {})
        self.step, self.fresh = 0, 0
        self.sent, self.most = [], 0
        self.faults = {}
        self.always_another = True

    @contextmanager
    def hosting(self, course):
        self.course = course
        yield "plugin"

    def submit(self, function, plugin, token, batch, *, key, workers, **options):
        assert function is grade_batch and plugin == "plugin"
        assert options == {"allow_other_workers": False, "pure": False}
        (address,) = workers
        future = Future(key, unpacked(batch))
        self.tasks[address].append(future)
        self.sent.append([item.student for item in future.batch])
        self.most = max(self.most, *map(len, self.tasks.values()))
        return future

    def threads(self):
        self.step += 1
        assert self.step < 5000, "it goes on for ever"
        victim = self.script.pop(self.step, None)
        if victim in self.tasks:
            self.kill(victim)
        for address in [*self.tasks]:
            self.work(address)
        return dict.fromkeys(self.tasks, self.per_worker)

    def work(self, address):
        if not self.tasks[address]:
            return
        future = self.tasks[address][0]
        students = {item.student for item in future.batch}
        if students & self.killers:
            self.kill(address)
            return
        self.tasks[address].pop(0)
        for student in students & self.faults.keys():
            if self.faults[student]:
                self.faults[student] -= 1
                future.end("error", ValueError("broken"))
                return
        future.end("finished", packed([self.grade(item) for item in future.batch]))

    def grade(self, item):
        result = ungraded(self.assignment, item.student, "", "strong")
        return Graded(item.key, msgspec.structs.replace(result, outcome="graded", score=1.0))

    def kill(self, address):
        del self.tasks[address]
        if self.always_another or not self.tasks:
            self.fresh += 1
            self.join(f"fresh{self.fresh}")

    def join(self, address):
        self.tasks[address] = []
        self.placed[address] = Report("ready", f"token of {address}", "strong")

    def reports(self, addresses):
        return {address: self.placed[address] for address in addresses}


def over(cluster, made, students=None, earlier=None, notices=None):
    """The results of a class on a cluster, in the order in which they came."""
    _, assignment, folders = made
    chosen = folders if students is None else {name: folders[name] for name in students}
    parcel = Course("ps", "1", DEFAULT_LIMITS, {}, False, True, b"")
    notice = (notices if notices is not None else []).append
    with Stream(cluster, parcel, assignment, chosen, earlier or {}, notice) as sent:
        results = list(sent.results())
        cluster.isolation = sent.isolation
    return results


def outcomes(results):
    assert len({result.student for result in results}) == len(results)
    return {result.student: result.outcome for result in results}


class TestTheStream:
    def test_each_submission_once(self, made):
        cluster = Cluster(made[1])
        found = outcomes(over(cluster, made))
        assert found == dict.fromkeys(made[2], "graded")
        assert sorted(chain(*cluster.sent)) == sorted(made[2])

    @pytest.mark.parametrize("threads", [1, 3])
    def test_workers_have_little_ahead(self, made, threads):
        cluster = Cluster(made[1], threads=threads)
        over(cluster, made)
        assert cluster.most == AHEAD * threads

    def test_batches_become_small_at_the_end(self, made):
        cluster = Cluster(made[1])
        over(cluster, made)
        sizes = [len(batch) for batch in cluster.sent]
        assert max(sizes) > 4 and sizes[-1] == 1

    def test_batches_are_bounded_in_bytes(self, made, monkeypatch):
        monkeypatch.setattr(stream, "BATCH_BYTES", 2 * len(RIGHT))
        cluster = Cluster(made[1])
        over(cluster, made)
        assert max(map(len, cluster.sent)) == 2

    def test_submissions_are_read_as_they_are_sent(self, made, monkeypatch):
        read = []
        original = Assignment.handed
        monkeypatch.setattr(
            Assignment, "handed", lambda self, folder: read.append(folder) or original(self, folder)
        )
        cluster = Cluster(made[1])
        course = Course("ps", "1", DEFAULT_LIMITS, {}, False, True, b"")
        with Stream(cluster, course, made[1], made[2], {}, print) as sent:
            next(sent.results())
        assert len(read) == len([*chain(*cluster.sent)]) < 40

    def test_a_worker_that_joins_gets_some(self, made):
        cluster = Cluster(made[1], addresses=("a",))
        original = cluster.threads

        def threads():
            if cluster.step == 2:
                cluster.join("late")
            return original()

        cluster.threads = threads
        took = []
        work = cluster.work
        cluster.work = lambda address: took.append(address) or work(address)
        assert len(outcomes(over(cluster, made))) == 40
        assert "late" in took


class TestDeaths:
    def test_what_a_dead_worker_had_is_graded_by_others(self, made):
        cluster = Cluster(made[1], script={2: "a"})
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")

    def test_one_that_kills_workers_harms_no_other(self, made):
        cluster = Cluster(made[1], killers={"s05"})
        results = over(cluster, made)
        assert outcomes(results) == {**dict.fromkeys(made[2], "graded"), "s05": "infrastructure"}
        (killer,) = [result for result in results if result.student == "s05"]
        assert killer.score is None
        assert {exercise.outcome for exercise in killer.exercises} == {"infrastructure"}
        assert "3 workers ended while they graded it" in killer.messages[0]
        assert cluster.fresh == MOST_DEATHS
        # who was beside it has been sent once more, alone, and not again
        assert cluster.sent.count(["s05"]) == MOST_DEATHS - 1
        alone = [batch[0] for batch in cluster.sent if len(batch) == 1]
        assert alone.count("s04") <= 1

    def test_nothing_is_sent_beside_a_suspect(self, made):
        cluster = Cluster(made[1], killers={"s05"})
        submit_one = cluster.submit

        def submit_seen(*arguments, workers, **options):
            (address,) = workers
            future = submit_one(*arguments, workers=workers, **options)
            batches = [[item.student for item in task.batch] for task in cluster.tasks[address]]
            assert ["s05"] not in batches or len(batches) == 1
            return future

        cluster.submit = submit_seen
        over(cluster, made)

    def test_another_process_at_the_same_address(self, made):
        cluster = Cluster(made[1])
        work = cluster.work

        def other_process(address):
            if cluster.step == 3 and address == "a" and cluster.tasks["a"]:
                cluster.placed["a"] = Report("ready", "another token", "strong")
                while cluster.tasks["a"]:
                    cluster.tasks["a"].pop(0).end("finished", None)
            else:
                work(address)

        cluster.work = other_process
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")

    def test_a_task_that_dask_gave_up(self, made):
        cluster = Cluster(made[1])
        work = cluster.work

        def killed(address):
            if cluster.step == 3 and cluster.tasks[address]:
                task = cluster.tasks[address].pop(0)
                task.end("error", KilledWorker(task.key, None, 4))
            else:
                work(address)

        cluster.work = killed
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")

    @pytest.mark.parametrize("problem", [TimeoutError(), CancelledError(), OSError("gone")])
    def test_a_result_that_is_lost_on_its_way(self, made, problem):
        cluster = Cluster(made[1])
        work = cluster.work

        def lost(address):
            if cluster.step == 3 and cluster.tasks[address]:
                cluster.tasks[address].pop(0).end("finished", problem)
            else:
                work(address)

        cluster.work = lost
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")

    def test_what_was_cancelled_is_sent_again(self, made):
        cluster = Cluster(made[1])
        work = cluster.work

        def cancelled(address):
            if cluster.step == 3 and cluster.tasks[address]:
                cluster.tasks[address].pop(0).end("cancelled")
            else:
                work(address)

        cluster.work = cancelled
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")

    def test_when_nobody_is_left(self, made, monkeypatch):
        monkeypatch.setattr(stream, "PATIENCE", 0.0)  # the second look is too late
        cluster = Cluster(made[1], addresses=("a",))
        cluster.kill = cluster.tasks.pop
        cluster.script = {2: "a"}
        notices = []
        with pytest.raises(CannotGrade, match=r"what was graded is kept: start workers, and run"):
            over(cluster, made, notices=notices)
        assert notices == ["no worker of the cluster of the test is left; waiting for one to join"]

    def test_a_result_that_comes_twice_is_taken_once(self, made):
        cluster = Cluster(made[1])
        landed = []
        original = cluster.submit

        def twice(*arguments, **options):
            future = original(*arguments, **options)
            end = future.end
            future.end = lambda *how: [end(*how), landed.append(future), end(*how)]
            return future

        cluster.submit = twice
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")
        assert landed

    def test_a_batch_that_reports_what_is_done_already(self, made):
        """Two tasks with the same submission, as after a partition: the first one counts."""
        cluster = Cluster(made[1])
        before = []
        grade = cluster.grade
        cluster.grade = lambda item: before.append(grade(item)) or before[-1]
        finished = cluster.work

        def with_all_of_before(address):
            tasks = cluster.tasks[address]
            if tasks and not {i.student for i in tasks[0].batch} & cluster.killers:
                future = tasks.pop(0)
                found = [*before, *(cluster.grade(item) for item in future.batch)]
                future.end("finished", packed(found))
            else:
                finished(address)

        cluster.work = with_all_of_before
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")

    @settings(deadline=None, max_examples=60)
    @given(
        killers=st.sets(st.integers(0, 39).map("s{:02}".format), max_size=3),
        when=st.integers(1, 12),
        victim=st.sampled_from(["a", "b", "c", "fresh1"]),
        threads=st.integers(1, 3),
        always_another=st.booleans(),
    )
    def test_each_once_whatever_dies(self, made, killers, when, victim, threads, always_another):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream, "LOOK", 0.0)
            cluster = Cluster(made[1], ("a", "b", "c"), killers, {when: victim}, threads)
            cluster.always_another = always_another
            found = outcomes(over(cluster, made))
        assert found == {
            student: "infrastructure" if student in killers else "graded" for student in made[2]
        }


class TestFaults:
    def test_a_fault_in_a_batch_is_tried_once_more_in_parts(self, made):
        cluster = Cluster(made[1])
        cluster.faults = {"s03": 1}
        assert outcomes(over(cluster, made)) == dict.fromkeys(made[2], "graded")

    def test_one_that_fails_again_costs_nobody_else(self, made):
        cluster = Cluster(made[1])
        cluster.faults = {"s03": 9}
        results = over(cluster, made)
        assert outcomes(results) == {**dict.fromkeys(made[2], "graded"), "s03": "infrastructure"}
        (broken,) = [result for result in results if result.student == "s03"]
        assert "ValueError: broken" in broken.messages[0]
        assert "ValueError: broken" in broken.exercises[0].feedback


class TestRefusals:
    WEAK = Report("refused", reason="its walls are of paper; build others")

    def test_a_weak_worker_gets_nothing(self, made):
        cluster, notices = Cluster(made[1]), []
        cluster.placed["a"] = self.WEAK
        original = cluster.submit

        def submit_seen(*arguments, workers, **options):
            assert workers == ["b"]
            return original(*arguments, workers=workers, **options)

        cluster.submit = submit_seen
        assert len(outcomes(over(cluster, made, notices=notices))) == 40
        assert notices == ["the worker a does not grade: its walls are of paper; build others"]

    def test_weak_workers_alone(self, made):
        cluster, notices = Cluster(made[1]), []
        cluster.placed.update(a=self.WEAK, b=self.WEAK)
        with pytest.raises(CannotGrade, match="no worker of the cluster of the test grades: its"):
            over(cluster, made, notices=notices)
        assert notices == []

    def test_one_with_other_versions_that_joins(self, made):
        cluster, notices = Cluster(made[1]), []
        about = {**versions("numpy"), "numpy": "1.0"}
        cluster.placed["a"] = Report("ready", "token", "strong", versions=about)
        assert len(outcomes(over(cluster, made, notices=notices))) == 40
        assert "the worker a does not grade: it has numpy 1.0 where this machine has" in notices[0]
        assert notices[0].endswith("; give both the same")

    def test_one_that_is_not_ready_yet_is_asked_again(self, made):
        cluster = Cluster(made[1], addresses=("a",))
        cluster.placed["a"] = Report("absent")
        reports = cluster.reports

        def later(addresses):
            found = reports(addresses)
            cluster.placed["a"] = Report("ready", "token", "strong")
            return found

        cluster.reports = later
        assert len(outcomes(over(cluster, made))) == 40

    @pytest.mark.parametrize("first, second, weakest", [
        ("strong+", "strong", "strong"), ("none", "strong+", "none"), ("basic", "basic", "basic"),
    ])  # fmt: skip
    def test_the_weakest_isolation_is_recorded(self, made, first, second, weakest):
        cluster = Cluster(made[1])
        cluster.placed = {"a": Report("ready", "t", first), "b": Report("ready", "t", second)}
        over(cluster, made)
        assert cluster.isolation == weakest


class TestParcels:
    def keys(self, made, seed="1", limits=DEFAULT_LIMITS, earlier=None):
        course, assignment, folders = made
        again = Assignment.load(course, NAME, seed)
        run = Course.pack(course, again, limits, False).key
        return [item.key for item in items(run, assignment, folders, earlier or {})]

    def test_keys_are_the_same_for_the_same(self, made):
        assert self.keys(made) == self.keys(made)
        assert len(set(self.keys(made))) == 40

    def test_keys_depend_on_all_that_results_depend_on(self, made, tmp_path):
        before = set(self.keys(made))
        assert not before & set(self.keys(made, seed="2"))
        assert not before & set(self.keys(made, limits=DEFAULT_LIMITS.for_exercise(memory=99)))
        course = make_course(tmp_path)
        path = course / "solutions" / NAME / "double.py"
        path.write_text(path.read_text("utf-8").replace("2 * x ", "x + x "), "utf-8")
        assert not before & set(self.keys((course, *made[1:])))
        result = ungraded(made[1], "s01", "", "strong")
        again = self.keys(made, earlier={"s01": Earlier(result, {"double"})})
        assert len(before - set(again)) == 1

    def test_a_changed_submission_has_another_key(self, made, tmp_path):
        course = make_course(tmp_path)
        folder = submit(course, "s00", RIGHT)
        (one,) = items("run", made[1], {"s00": folder}, {})
        submit(course, "s00", SQUARED)
        (two,) = items("run", made[1], {"s00": folder}, {})
        assert one.key != two.key

    def test_the_archive_is_the_same_for_the_same_content(self, made, tmp_path):
        other = make_course(tmp_path)
        (other / "solutions" / "__pycache__").mkdir()
        (other / "solutions" / "__pycache__" / "x.pyc").write_bytes(b"x")
        limits = (DEFAULT_LIMITS, False)
        one, two = (Course.pack(where, made[1], *limits) for where in (made[0], other))
        assert one.archive == two.archive

    def test_an_unpacked_course_draws_the_same(self, made, tmp_path):
        parcel = Course.pack(made[0], made[1], DEFAULT_LIMITS, False)
        unpacked_one = parcel.unpack(tmp_path)
        assert unpacked_one.bases == made[1].bases
        assert unpacked_one.quiz_basis == made[1].quiz_basis
        assert sorted(path.name for path in tmp_path.iterdir()) == ["solutions"]

    def test_no_secret_shows_in_words(self, made):
        parcel = Course("ps", "0123seed", DEFAULT_LIMITS, {}, False, True, b"return 2 * x")
        assert "0123seed" not in repr(parcel) and "2 * x" not in repr(parcel)

    @pytest.mark.parametrize("kind", ["link", "folder", "pipe", "large", "nothing", "outside"])
    def test_what_cannot_be_read_is_told_as_on_one_machine(self, made, tmp_path, kind, monkeypatch):
        import os

        monkeypatch.setattr("autograder.files.MAX_FILE", 1000)
        folder = submit(make_course(tmp_path), "s", RIGHT)
        notebook = folder / f"{NAME}.ipynb"
        if kind == "link":
            notebook.symlink_to(folder / f"{NAME}.py")
        elif kind == "folder":
            notebook.mkdir()
        elif kind == "pipe":
            os.mkfifo(notebook)
        elif kind == "large":
            notebook.write_text(" " * 1001)
        else:
            (folder / f"{NAME}.py").rename(folder / "other.py")
            if kind == "nothing":
                (folder / "other.py").unlink()
        (item,) = items("run", made[1], {"s": folder}, {})
        item = unpacked(packed(item))
        local = grade_submission(made[1], "s", folder, nothing_runs, "strong")
        sent = grade_submission(made[1], "s", item.handed, nothing_runs, "strong")
        assert comparable(sent) == comparable(local)
        assert str(tmp_path) not in repr(item)

    def test_a_link_to_somebody_else_s_folder(self, made, tmp_path):
        course = make_course(tmp_path)
        folder = submit(course, "honest", RIGHT)
        copycat = course / "submitted" / "copycat"
        copycat.mkdir()
        (copycat / NAME).symlink_to(folder)
        (item,) = items("run", made[1], {"copycat": copycat / NAME}, {})
        assert item.handed.files == ()
        assert item.handed.nothing == f"{NAME} is a link; hand in the files themselves"


def nothing_runs(**limits):
    raise AssertionError("nothing is to be run")


def comparable(result):
    """A result without how long it took."""
    return msgspec.structs.replace(result, seconds=0.0)


class TestHosting:
    """The plug-in without Dask around it."""

    @pytest.fixture
    def worker(self, tmp_path):
        state = SimpleNamespace(nthreads=1)
        return SimpleNamespace(local_directory=str(tmp_path), state=state, plugins={})

    def hosted(self, made, worker, monkeypatch, isolation="strong", **parcel):
        """A plug-in that was set up and torn down; calls `parcel["inside"]` between."""
        import asyncio
        from contextlib import contextmanager as manager

        entered = []

        @manager
        def observer(assignment, course, limits, workers, allow_unsandboxed):
            entered.append(course)
            if isolation == "none" and not allow_unsandboxed:
                raise CannotGrade("this machine is weak; use another")
            yield nothing_runs, isolation

        monkeypatch.setattr(hosting, "observer", observer)
        trusted = parcel.get("allow_unsandboxed", False)
        course = Course.pack(made[0], made[1], DEFAULT_LIMITS, trusted)
        plugin = unpacked(packed(hosting.Hosting("plugin", course)))
        worker.plugins["plugin"] = plugin

        async def live():
            await plugin.setup(worker)
            try:
                return parcel["inside"](plugin)
            finally:
                await plugin.teardown(worker)

        return asyncio.run(live()), entered

    def test_the_solutions_are_closed_to_others_and_deleted(self, made, worker, monkeypatch):
        def inside(plugin):
            assert plugin.report.state == "ready"
            (folder,) = (hosting.Path(worker.local_directory)).iterdir()
            assert folder.stat().st_mode & 0o777 == 0o700
            assert (folder / "solutions" / NAME / "double.py").is_file()
            return folder

        folder, entered = self.hosted(made, worker, monkeypatch, inside=inside)
        assert entered == [folder]
        assert not folder.exists()
        assert worker.plugins["plugin"].report.state == "absent"

    def test_a_batch_is_graded_for_its_token_alone(self, made, worker, monkeypatch, tmp_path):
        monkeypatch.setattr(hosting, "get_worker", lambda: worker)
        folder = submit(make_course(tmp_path / "course"), "s", "def double(x:\n")
        batch = packed(list(items("run", made[1], {"s": folder}, {})))

        def inside(plugin):
            assert grade_batch("plugin", "another", batch) is None
            assert grade_batch("another", plugin.report.token, batch) is None
            return unpacked(grade_batch("plugin", plugin.report.token, batch))

        (graded,), _ = self.hosted(made, worker, monkeypatch, inside=inside)
        local = grade_submission(made[1], "s", folder, nothing_runs, "strong")
        assert comparable(graded.result) == comparable(local)

    def test_a_weak_machine_refuses(self, made, worker, monkeypatch, tmp_path):
        report, _ = self.hosted(
            made, worker, monkeypatch, "none", inside=lambda plugin: plugin.report
        )
        assert (report.state, report.reason) == ("refused", "this machine is weak; use another")
        assert list(tmp_path.iterdir()) == []

    def test_unless_it_is_allowed(self, made, worker, monkeypatch):
        report, _ = self.hosted(
            made, worker, monkeypatch, "none",
            inside=lambda plugin: plugin.report, allow_unsandboxed=True,
        )  # fmt: skip
        assert (report.state, report.isolation) == ("ready", "none")

    def test_a_fault_of_ours_refuses_with_its_name(self, made, worker, monkeypatch):
        monkeypatch.setattr(Course, "unpack", lambda *a: 1 / 0)
        report, _ = self.hosted(made, worker, monkeypatch, inside=lambda plugin: plugin.report)
        assert report.reason == "ZeroDivisionError: division by zero"

    def test_results_of_before_stay_the_same_objects(self, made, worker, monkeypatch):
        monkeypatch.setattr(hosting, "get_worker", lambda: worker)
        _, assignment, folders = made
        result = grade_submission(assignment, "s01", folders["s01"], nothing_runs, "strong")
        earlier = {"s01": Earlier(result, frozenset())}
        (item,) = items("run", assignment, {"s01": folders["s01"]}, earlier)

        def inside(plugin):
            return unpacked(grade_batch("plugin", plugin.report.token, packed([item])))

        (graded,), _ = self.hosted(made, worker, monkeypatch, inside=inside)
        assert graded.kept == {"double"}
        (exercise,) = stream._with_kept(graded, item).exercises
        assert exercise is result.exercises[0]


class TestWhatIsAskedFirst:
    """`Cluster` with answers that a client of Dask would give."""

    def hosting(self, *, workers=None, registered=None, nthreads=None):
        def register_plugin(plugin, name=None):
            if isinstance(plugin, hosting.Hosting):
                (registered or [].append)(plugin)

        client = SimpleNamespace(
            id="Client-1",
            wait_for_workers=lambda count, timeout: None,
            run=lambda function, *arguments, **options: workers or {},
            register_plugin=register_plugin,
            unregister_worker_plugin=lambda name: 1 / 0,  # whatever it is, the results are there
            nthreads=nthreads or dict,
        )
        cluster = connecting.Cluster(client, "the cluster x")
        with cluster.hosting(Course("ps", "1", DEFAULT_LIMITS, {}, False, True, b"")):
            return cluster

    def test_the_same_versions(self):
        registered = []
        self.hosting(workers={"a": versions("numpy")}, registered=registered.append)
        assert [plugin.name for plugin in registered] == ["attention-autograder-Client-1"]

    @pytest.mark.parametrize("name", ["attention-autograder", "Python", "numpy"])
    def test_another_version(self, name):
        other = {"a": versions("numpy"), "b": {**versions("numpy"), name: "0.0"}}
        said = f"the worker b has {name} 0.0 where this machine has .*; give both the same, and run"
        with pytest.raises(CannotGrade, match=said):
            self.hosting(workers=other)

    def test_one_that_cannot_import_ours(self):
        with pytest.raises(CannotGrade, match=r"the worker a has no attention-autograder that"):
            self.hosting(workers={"a": Exception("ModuleNotFoundError: autograder")})

    def test_one_that_went_meanwhile_is_no_matter(self):
        self.hosting(workers={"a": OSError("gone"), "b": versions("numpy")})

    def test_a_scheduler_that_is_gone(self):
        def gone():
            raise OSError("Timed out\nwith more to say")

        cluster = self.hosting(nthreads=gone)
        with pytest.raises(CannotGrade) as caught:
            cluster.threads()
        assert str(caught.value) == (
            "the cluster x does not answer any more (Timed out); what was graded is kept: see that "
            "its scheduler runs, and run the same command again"
        )


def test_a_package_that_differs_is_named():
    assert connecting.differing(versions("numpy")) == ""
    theirs = {**versions("numpy"), "Python": "3.5"}
    assert connecting.differing(theirs).startswith("has Python 3.5 where this machine has 3.")


def test_the_queue_of_done_tasks_is_emptied_at_once():
    landed = queue.SimpleQueue()
    for number in range(3):
        landed.put(number)
    assert list(Stream._wait(SimpleNamespace(_landed=landed))) == [0, 1, 2]
