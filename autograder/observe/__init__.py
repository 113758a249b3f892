"""Observing student code: it runs elsewhere, and plain values come back.

Nothing in this package judges. `protocol` is the language, `worker` is all of ours that
runs beside student code, and the other modules decide in which process the worker runs.
"""
