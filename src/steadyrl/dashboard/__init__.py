"""A folder of runs in the browser, as it grows: read-only, on this machine alone."""
