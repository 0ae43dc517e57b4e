"""Runs and results as plain data: what the terminal, the report and the dashboard only render."""
