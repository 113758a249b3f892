"""Measurements of the grader beside stock nbgrader: `python -m benchmarks`, or `make bench`."""
