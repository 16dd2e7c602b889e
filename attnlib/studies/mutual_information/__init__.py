"""Attention rank and information on the output (Wen et al. 2022)."""
