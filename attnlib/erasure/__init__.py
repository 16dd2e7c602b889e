"""What happens to a decision when parts of a text are removed.

request   what is removed, in which order and how: one object that all functions share, and batches in that order
flips     fraction_to_flip, top_token_flips, erasure_curves, single_removals
"""
