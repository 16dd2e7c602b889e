"""Runs: what they are, where their results are kept, and who computes them."""
