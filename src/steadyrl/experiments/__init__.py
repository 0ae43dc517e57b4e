"""Runs made of runs: proofs, comparisons, rescues."""
