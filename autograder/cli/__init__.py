"""The command `autograder`: it parses, calls and prints. The work is done elsewhere."""

# --help lists commands in the order in which these are imported
# isort: off
from autograder.cli import checking, grading, exchanging, authoring  # noqa: F401
from autograder.cli.app import app
from autograder.cli.running import main
# isort: on

__all__ = ["app", "main"]
