"""Watching runs that other programs train. Nothing of theirs is imported before it is used."""
