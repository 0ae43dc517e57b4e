"""The viewer: one page frame for reports, which carry their data, and for the dashboard."""
