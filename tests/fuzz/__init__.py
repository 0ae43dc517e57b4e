"""Damaged files by the hundred thousand for every reader; run by `python -m tests.fuzz.run`."""
