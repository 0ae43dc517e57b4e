"""Vocabulary and mathematics. Imports nothing else of this package."""
