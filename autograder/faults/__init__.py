"""Finding the fault in a failed exercise: a small input, the first wrong step, a repair.

A misconception is named when somebody wrote it down before; this is for the rest. It runs after
the judge, on what has failed, and changes no score: what it finds is one `Remark` beside the
result and a few lines in its feedback. Where it is not sure it says nothing.
"""
