"""The key: what it holds, that it reads back equal, and what is said when it cannot be used."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from autograder import __version__, build
from autograder.judge import judge, judge_case
from autograder.key_writing import make_key
from autograder.pack import load_pack
from autograder.quiz import form_of, load_quiz
from autograder.selfcheck import KEY_FILE, SEED, KeyUnusable, load_key
from tests.unit.courses import NAME, make_course


@pytest.fixture
def pack(tmp_path):
    return load_pack(make_course(tmp_path), NAME)


@pytest.fixture
def folder(pack, tmp_path):
    forms = {question.id: form_of(question) for question in load_quiz(pack.folder)}
    key = make_key(NAME, "Doubling", pack.draw_all(SEED, public_only=True), forms)
    target = tmp_path / "assignment"
    target.mkdir()
    (target / KEY_FILE).write_bytes(key)
    return target


def rewrite(folder, change):
    """Change the key's document."""
    path = folder / KEY_FILE
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    document = json.loads(header["__metadata__"]["autograder"])
    change(document)
    path.write_bytes(save(load(data), metadata={"autograder": json.dumps(document)}))


class TestReading:
    def test_a_key_judges_like_the_pack(self, pack, folder):
        live = pack.draw("double", SEED, public_only=True)
        stored = load_key(folder).spec("double")
        for implementation in (pack.exercises["double"].reference, np.square, np.negative):
            observed = {
                case.name: pack.observe("double", implementation, case.program)
                for case in stored.cases
            }
            assert judge(stored, observed).outcome == judge(live, observed).outcome
            assert judge(stored, observed).feedback == judge(live, observed).feedback

    def test_a_misconception_is_named_from_the_key(self, pack, folder):
        spec = load_key(folder).spec("double")
        observed = {c.name: pack.observe("double", np.square, c.program) for c in spec.cases}
        assert judge(spec, observed).misconceptions == ("squared",)

    def test_unknown_exercise(self, folder):
        with pytest.raises(KeyError):
            load_key(folder).spec("triple")

    def test_what_does_no_harm_is_written_once(self):
        course = Path(__file__).parents[2]
        pack = load_pack(course, "ps1_numpy_attention")
        live = pack.draw("softmax", SEED, public_only=True)
        stored = load_key(course / "assignments" / pack.name).spec("softmax")
        together = 0
        for ours, theirs in zip(stored.cases, live.cases, strict=True):
            assert set(ours.explanations) == set(theirs.explanations)
            kept = {id(outcome) for outcome in ours.explanations.values()}
            together += len(ours.explanations) - len(kept)
            for name, outcome in ours.explanations.items():
                fault = judge_case(live, theirs, theirs.explanations[name])
                assert judge_case(stored, ours, outcome) == fault
        assert together > 10


class TestSecrets:
    def test_hidden_cases_credits_and_answers_stay_out(self, folder):
        text = (folder / KEY_FILE).read_bytes()
        assert b"five numbers" in text
        assert b"three other numbers" not in text
        assert b"credit" not in text
        assert b"42" not in text
        assert b"linear" in text  # an option's id is shown to students anyway
        assert b"added to itself" not in text

    def test_code_stays_out(self, folder):
        text = (folder / KEY_FILE).read_bytes()
        assert b"return 2" not in text
        assert b"x * x" not in text


class TestUnusable:
    def test_no_key(self, tmp_path):
        with pytest.raises(KeyUnusable, match=r"no selfcheck\.safetensors in .*copy it there"):
            load_key(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"\0" * 100, b"not a key at all", b"\xff" * 4096])
    def test_a_damaged_key(self, tmp_path, content):
        (tmp_path / KEY_FILE).write_bytes(content)
        with pytest.raises(KeyUnusable, match="is damaged"):
            load_key(tmp_path)

    def test_a_safetensors_file_of_something_else(self, tmp_path):
        (tmp_path / KEY_FILE).write_bytes(save({"weights": np.ones(3)}))
        with pytest.raises(KeyUnusable, match="is damaged"):
            load_key(tmp_path)

    def test_observations_of_another_form(self, folder):
        def change(document):
            case = document["exercises"][0]["cases"][0]
            case["explanations"] = dict.fromkeys(case["explanations"], "nothing of the kind")

        rewrite(folder, change)
        with pytest.raises(KeyUnusable, match=r"is damaged \(ProtocolError\); copy it again"):
            load_key(folder)

    def test_an_older_form_of_the_same_version(self, folder):
        rewrite(folder, lambda document: document.update(format=1))
        with pytest.raises(KeyUnusable, match=r"of an older form .* get the assignment's folder"):
            load_key(folder)

    def test_another_version_says_which_to_install(self, folder):
        rewrite(folder, lambda document: document.update(version="7.3.1"))
        with pytest.raises(
            KeyUnusable,
            match=rf"made with attention-autograder 7\.3\.1, and you have {__version__}; "
            r"install the right one: pip install attention-autograder==7\.3\.1",
        ):
            load_key(folder)

    def test_a_patch_of_the_same_version_is_no_other_version(self, folder):
        patched = ".".join([*__version__.split(".")[:2], "99"])
        rewrite(folder, lambda document: document.update(version=patched))
        assert load_key(folder).version == patched

    def test_another_format_is_refused(self, folder):
        rewrite(folder, lambda document: document.update(format=99))
        with pytest.raises(KeyUnusable, match="made with attention-autograder"):
            load_key(folder)


class TestSameKey:
    """Processors differ in the last bits; authors differ in more."""

    @staticmethod
    def key(value, text="{}"):
        return save({"a": np.asarray(value)}, metadata={"autograder": text})

    def test_rounding_is_the_same(self):
        left, right = np.array([1.0, 1e-20]), np.array([1.0 + 2e-16, 1.0001e-20])
        assert build.same_key(self.key(left), self.key(right))

    def test_more_than_rounding_is_not(self):
        assert not build.same_key(self.key([1.0]), self.key([1.0 + 1e-12]))

    @pytest.mark.parametrize(
        "other", [[1.0, 2.0, 3.0], [[1.0, 2.0]], [1.0, np.nan], [1.0, np.inf], [1, 2]]
    )
    def test_shapes_dtypes_and_nan_count(self, other):
        assert not build.same_key(self.key([1.0, 2.0]), self.key(other))

    def test_equal_nan_positions_are_the_same(self):
        assert build.same_key(self.key([np.nan, 1.0]), self.key([np.nan, 1.0]))

    def test_texts_count(self):
        assert not build.same_key(self.key([1.0], "{}"), self.key([1.0], '{"a":1}'))

    def test_damaged_is_not_the_same(self):
        assert not build.same_key(b"", self.key([1.0]))
