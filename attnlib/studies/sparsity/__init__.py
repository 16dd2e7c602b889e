"""Sparse attention (Meister et al. 2021)."""
