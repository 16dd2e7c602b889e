"""Hugging Face sequence classifiers behind the kit's contract `Explainable` (`attnlib.engine.explainable`).

words       texts to words, words to the pieces that a model reads, and what becomes of a removed word
attention   the self-attention of every layer: seen and replaced where it is computed, never kept
network     the model itself, called as the kit calls models
classifier  `HFClassifier`, and erasure for it
finetune    a copy trained on with words masked at random
loading     `load_model`: a saved attnlib model or a checkpoint, and what is refused
"""
