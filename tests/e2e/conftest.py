"""Fixtures that take seconds, made once for all tests that look at them."""

import pytest


@pytest.fixture(scope="session")
def nbgrader_class(tmp_path_factory):
    """A course with the seven submissions and all traps, autograded once."""
    from tests.e2e.nbgrader_course import make_course
    from tests.e2e.nbgrader_students import grade_a_class

    return grade_a_class(make_course(tmp_path_factory.mktemp("nbgrader") / "a course"))


@pytest.fixture(scope="session")
def small_release(tmp_path_factory):
    """The release of a course with one exercise, to be copied and not to be changed."""
    from autograder import build
    from tests.unit.courses import NAME, make_course

    course = make_course(tmp_path_factory.mktemp("small"))
    build.build(course)
    return course / "assignments" / NAME
