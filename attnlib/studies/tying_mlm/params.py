"""Parameters of the study of word-level objectives (Tutek & Šnajder 2020), and the models that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from attnlib.config import ModelConfig, TrainConfig
from attnlib.studies.datasets import Dataset, short
from attnlib.studies.params import (
    ByDataset,
    Corpora,
    Datasets,
    NotNegative,
    Once,
    Positive,
    Seed,
    Size,
    Some,
    StudyParams,
)
from attnlib.utils.errors import DataError, unknown
from attnlib.utils.text import plural

if TYPE_CHECKING:
    from attnlib.data.types import Corpus

VARIANTS = ("base", "concat", "residual", "tying", "mlm")
Variant = Literal["base", "concat", "residual", "tying", "mlm"]
Kind = Literal["additive", "dot"]
REGULARISED = ("tying", "mlm")
"""The two variants that add to the loss; the paper's own proposals."""


class Params(StudyParams):
    """The parameters of `02_tying_mlm`, each explained in its first cell; besides:

    squared      of tying: the square of the norm (eq. 4)
    delta, eta   None: the weight with the best macro-F1 on dev, for each corpus (`grid.decided`)
    deltas, etas, layers, lambdas   are tried with additive attention
    initialisations   of the query of dot attention (App. C), base model
    shown        sentences whose per-token probabilities are drawn
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
    attentions: Some[Kind] = ("additive", "dot")
    seeds: Some[Seed] = (0, 1)
    few: Size = 1
    baseline_seeds: Size = 2
    epochs: Size = 6
    patience: Size | None = 2
    batch_size: Size = 32
    learning_rate: Positive = 0.01
    monitor: Literal["loss", "accuracy", "f1", "auc"] = "loss"
    class_weights: bool = False
    permutations: Size = 10
    delta: Positive | None = None
    delta_of: ByDataset[Positive] = Field(default_factory=dict)
    deltas: Once[Positive] = (1.0, 10.0)
    squared: bool = True
    summed: bool = True
    eta: Positive | None = None
    eta_of: ByDataset[Positive] = Field(default_factory=dict)
    etas: Once[Positive] = (0.1, 0.3)
    layers: Once[Annotated[int, Field(ge=2, le=12)]] = (2,)
    layer_variants: Once[Variant] = ("base", "tying")
    initialisations: Once[Literal["normal", "kaiming"]] = ("normal", "kaiming")
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
    shown: int = Field(3, ge=0)

    @model_validator(mode="after")
    def _sense(self) -> Params:
        if "base" not in self.variants:
            raise ValueError(f"variants must hold 'base': every claim compares with it; got {list(self.variants)}.")
        if "additive" not in self.attentions:
            raise ValueError("attentions must hold 'additive': ablations, depth and adversaries use it.")
        for option in ("layer_variants", "adversary_bases"):
            for name in getattr(self, option):
                if name not in self.variants:
                    raise ValueError(unknown(f"variant in {option}", name, self.variants))
        self._check_keys("vector_files", "delta_of", "eta_of", known=self.all_corpora)
        for option, variant in (("delta", "tying"), ("eta", "mlm")):
            open_ = variant in self.variants and None in {self.given(c, variant) for c in self.all_corpora}
            if open_ and not self.tried(variant):
                raise ValueError(f"{option}s must name at least one weight to try; or give {option} itself.")
        self.model(self.corpora[0], "mlm", "additive", strength=1.0)
        return self

    @property
    def datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Those of the tables, and those that only adversaries meet."""
        return {"corpora": self.corpora, "adversary_corpora": self.adversary_corpora}

    @property
    def attacked(self) -> tuple[str, ...]:
        """The corpora of the adversaries."""
        return self.adversary_corpora or self.corpora

    @property
    def setting(self) -> str:
        """What claims are judged on."""
        fooled = ", ".join(map(short, self.attacked))
        trained = f"{plural(len(self.seeds), 'training')} per cell"
        cells = f"{super().setting}; BiLSTM; {', '.join(self.attentions)}; {trained}"
        return cells + (f"; adversaries on {fooled}" if fooled != super().setting else "")

    def suits(self, corpus: Corpus) -> None:
        """Refuse a corpus without two classes."""
        if len(corpus.classes) != 2:
            named = ", ".join(corpus.classes[:6]) + (", …" if len(corpus.classes) > 6 else "")
            raise DataError(
                f"{corpus.name!r} has {len(corpus.classes)} classes ({named}). This study measures F1 of the "
                "positive one of two. Choose a corpus with two classes, or keep the texts of two classes of yours."
            )

    def seeds_of(self, variant: str) -> tuple[int, ...]:
        """The replicates of a variant in Table 1."""
        return self.seeds[: self.baseline_seeds] if variant in ("concat", "residual") else self.seeds

    def given(self, corpus: str, variant: str) -> float | None:
        """Weight of the variant's loss outside the ablation; zero where it adds none, None where dev decides."""
        own = {"tying": (self.delta_of, self.delta), "mlm": (self.eta_of, self.eta)}
        by_corpus, usual = own.get(variant, ({}, 0.0))
        return by_corpus.get(corpus, usual)

    def strength(self, corpus: str, variant: str) -> float:
        """The same; before dev has decided, the first weight that is tried, so that a plan can be made."""
        known = self.given(corpus, variant)
        return self.tried(variant)[0] if known is None else known

    def tried(self, variant: str) -> tuple[float, ...]:
        """The weights that are tried."""
        return {"tying": self.deltas, "mlm": self.etas}.get(variant, ())

    def model(
        self,
        corpus: str,
        variant: str,
        attention: str,
        *,
        layers: int = 1,
        strength: float | None = None,
        init: str = "normal",
    ) -> ModelConfig:
        """A BiLSTM as wide as its embeddings; options that do not concern the variant stay at their defaults."""
        strength = self.strength(corpus, variant) if strength is None else strength
        own: dict[str, Any] = {"regulariser": "none" if variant == "base" else variant}
        if variant == "tying":
            weight = strength / self.batch_size if self.summed else strength
            own |= {"tying_delta": weight, "tying_squared": self.squared}
        if variant == "mlm":
            own |= {"mlm_eta": strength}
        if attention == "dot":
            own |= {"dot_init": init}
        own |= {"vectors": self.vector_files.get(corpus, self.vectors), "hidden_size": self.embedding_size}
        return self.config(ModelConfig, attention=attention, layers=layers, **own)

    @property
    def training(self) -> TrainConfig:
        """Table 4 of the paper, and what it has from Jain & Wallace."""
        return self.config(TrainConfig, amsgrad=True)

    @property
    def adversary_training(self) -> TrainConfig:
        """The epoch with the lowest training loss is kept, as Wiegreffe & Pinter do."""
        patience = min(10, self.adversary_epochs)
        plain = self.training.replace(class_weights=False)  # eq. 6 has no labels
        return plain.replace(monitor="train_loss", epochs=self.adversary_epochs, patience=patience)
