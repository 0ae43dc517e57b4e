"""The trainers. Each is a generator function in a file of its own that yields Steps."""
