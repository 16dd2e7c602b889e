"""Hugging Face sequence classifiers behind the kit's contract `Explainable` (`attnlib.engine.explainable`)."""
