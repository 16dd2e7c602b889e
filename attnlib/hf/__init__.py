"""Hugging Face sequence classifiers behind the kit's `Explainable` contract."""
