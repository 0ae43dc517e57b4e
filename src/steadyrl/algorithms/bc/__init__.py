"""Behaviour cloning: learning from recorded transitions."""
