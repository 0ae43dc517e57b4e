"""The fault bench: injected faults, healthy controls, and how well they are told apart."""
