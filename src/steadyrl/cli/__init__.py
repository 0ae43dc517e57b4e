"""The command line: one small file per command, heavy imports only where needed."""
