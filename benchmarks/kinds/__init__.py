"""How many kinds of mistakes are caught, and how many named: `python -m benchmarks.kinds`."""
