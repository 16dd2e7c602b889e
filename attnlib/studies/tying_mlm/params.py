"""Parameters of the study of word-level objectives (Tutek & Šnajder 2020)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from attnlib.config import ModelConfig
from attnlib.data.types import Corpus
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import ByDataset, Corpora, Datasets, NotNegative, Once, Seed, Size, Some, StudyParams
from attnlib.utils.errors import DataError

VARIANTS = ("base", "concat", "residual", "tying", "mlm")
Variant = Literal["base", "concat", "residual", "tying", "mlm"]
REGULARISED = ("tying", "mlm")  # which add to the loss: the paper's own proposals


class Params(StudyParams):
    """The parameters of `02_tying_mlm`, each explained in its first cell; besides:

    few, baseline_seeds   replicates of ablations and depth; of concat and residual
    chosen                variant -> corpus -> the weight that dev chose (`grid.decided`)
    adversary_corpora     further ones, which only adversaries meet
    """

    corpora: Corpora = (Dataset("rotten_tomatoes"),)
    limit: Size | None = 400
    vectors: str = "glove"
    vector_files: ByDataset[str] = Field(default_factory=dict)
    embedding_size: int = Field(50, ge=2)
    oov: Literal["normal", "zero"] = "normal"
    train_embeddings: bool = False
    strict_length_filter: bool = False
    boundaries: bool = False
    variants: Some[Variant] = VARIANTS
    attentions: Some[Literal["additive", "dot"]] = ("additive", "dot")
    seeds: Some[Seed] = (0, 1)
    few: Size = 1
    baseline_seeds: Size = 2
    epochs: Size = 6
    patience: Size | None = 2
    batch_size: Size = 32
    learning_rate: NotNegative = 0.01
    monitor: Literal["loss", "accuracy", "f1", "auc"] = "loss"
    class_weights: bool = False
    deltas: Some[NotNegative] = (1.0, 10.0)
    etas: Some[NotNegative] = (0.1, 0.3)
    chosen: dict[str, dict[str, float]] = Field(default_factory=dict)
    layers: Once[Annotated[int, Field(ge=2, le=12)]] = (2,)
    layer_variants: Once[Variant] = ("base", "tying")
    lambdas: Once[NotNegative] = (0.0, 0.2, 1.0)
    adversary_corpora: Datasets = ()
    adversary_bases: Once[Variant] = ("base", "mlm")
    adversary_seeds: Size = 2
    adversary_texts: Size | None = None
    adversary_epochs: Size = 6
    mi_words: int = Field(50, ge=2)
    mi_clusters: int = Field(50, ge=2)
    mi_batch: Size = 4096
    mi_occurrences: int | None = Field(3000, ge=2)

    @model_validator(mode="after")
    def _sense(self) -> Params:
        if "base" not in self.variants:
            raise ValueError(f"variants must hold 'base', for comparison; got {list(self.variants)}.")
        if "additive" not in self.attentions:
            raise ValueError("attentions must hold 'additive', which ablations and adversaries use.")
        self._check_keys("vector_files", known=self.all_corpora)
        self.config(ModelConfig, layers=1, hidden_size=self.embedding_size)  # refuses odd sizes
        return self

    @property
    def datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Those of the tables, and those that only adversaries meet."""
        return {"corpora": self.corpora, "adversary_corpora": self.adversary_corpora}

    def suits(self, corpus: Corpus) -> None:
        """Refuse a corpus without two classes."""
        if (n := len(corpus.classes)) != 2:
            raise DataError(
                f"{corpus.name!r} has {n} classes ({', '.join(corpus.classes[:6])}). The study needs "
                "a positive one of two: choose a corpus with two classes, or keep the texts of two."
            )

    def seeds_of(self, variant: str) -> tuple[int, ...]:
        """The replicates of a variant in Table 1."""
        return self.seeds[: self.baseline_seeds] if variant in ("concat", "residual") else self.seeds

    def tried(self, variant: str) -> tuple[float, ...]:
        """The weights of the variant's loss that are tried; zero where it adds none."""
        return {"tying": self.deltas, "mlm": self.etas}.get(variant, (0.0,))

    def strength(self, corpus: str, variant: str) -> float:
        """The weight outside the ablation; before dev has decided, the first that is tried."""
        return self.chosen.get(variant, {}).get(corpus, self.tried(variant)[0])
