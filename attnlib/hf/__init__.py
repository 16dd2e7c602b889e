"""Hugging Face sequence classifiers behind the kit's contract `Explainable` (`attnlib.engine.explainable`).

words       texts to words, words to the pieces that a model reads, and what becomes of a removed word
network     the model itself, called as the kit calls models; the self-attention of its layers, seen and replaced
            where it is computed, never kept
classifier  `HFClassifier`, erasure for it, and a copy trained on with words masked at random
loading     `load_model`: a saved attnlib model or a checkpoint, and what is refused
"""
