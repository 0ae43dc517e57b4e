"""The run directory: what is written while training, and how it is read back."""
