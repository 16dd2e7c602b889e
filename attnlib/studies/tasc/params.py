"""Parameters of the study of TaSc (Chrysostomou & Aletras 2021), and the models that they name."""

from __future__ import annotations

from itertools import product
from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import DataConfig, Encoder, ModelConfig, Scaling, TrainConfig
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import ByDataset, Corpora, Once, Positive, Seed, Size, Some, StudyParams

Kind = Literal["additive", "dot"]
BERT_RATE = 1e-5
"""The learning rate of BERT; what is on top of it learns ten times as fast."""
NAMES = {
    "importance": "ranking", "alpha": "α", "grad_alpha": "∇α", "alpha_grad": "α∇α",
    "omission": "WO", "input_x_grad": "x∇x", "integrated_gradients": "IG",
    "additive": "Tanh", "dot": "Dot",
    "none": "No-TaSc", "lin": "Lin-TaSc", "feat": "Feat-TaSc", "conv": "Conv-TaSc",
    "bert": "BERT", "lstm": "LSTM", "gru": "GRU", "mlp": "MLP", "cnn": "CNN", "transformer": "Transformer",
}  # fmt: skip
"""Our names as the paper writes them."""


class Params(StudyParams):
    """The parameters of `01_tasc`.

    vector_files    corpus -> file of word vectors, where corpora differ; they are not trained
    epochs_without  corpus -> encoder -> epochs without TaSc, where they differ
    baseline_texts  test texts of word omission and gradients, which are slower; F1 sees all
    shown_cells     corpus, encoder and attention of the cells of Figures 3 and 4 (`grid.shown`)
    """

    corpora: Corpora = (Dataset("rotten_tomatoes"),)
    limit: Size | None = 800
    vectors: str = "glove"
    vector_files: ByDataset[str] = Field(default_factory=dict)
    embedding_size: Size = 50
    hidden_size: int = Field(32, ge=2)
    encoders: Some[Encoder] = ("lstm", "mlp")
    attentions: Some[Kind] = ("additive", "dot")
    variants: Some[Scaling] = ("none", "lin", "feat", "conv")
    seeds: Some[Seed] = (0, 1)
    epochs: Size = 5
    patience: Size | None = None
    epochs_without: ByDataset[dict[Encoder, Size]] = Field(default_factory=dict)
    learning_rate: Positive = 5e-3
    texts: Size | None = 60
    baseline_texts: Size | None = None
    ig_steps: int = Field(32, ge=2)
    pretrained: str = "minilm"
    bert_epochs: Size = 3
    shown_cells: Once[tuple[str, Encoder, Kind]] = ()

    @model_validator(mode="after")
    def _sense(self) -> Params:
        if not {"none", "lin"} <= set(self.variants):
            raise ValueError(f"variants must hold 'none' and 'lin', to compare; got {self.variants}.")
        if not self.words:
            raise ValueError("encoders must name one besides 'bert', for u by word, not by piece.")
        self._check_keys("vector_files", "epochs_without", known=self.corpora)
        for cell in set(self.shown_cells) - set(product(self.corpora, self.encoders, self.attentions)):
            raise ValueError(f"shown_cells names {', '.join(cell)}, which is not in the grid.")
        for corpus, encoder in product(self.corpora, self.encoders):
            self.model(corpus, encoder, "additive", "none")  # refuses what no model can be
        return self

    @property
    def words(self) -> list[str]:
        """The encoders that read words, not word pieces."""
        return [encoder for encoder in self.encoders if encoder != "bert"]

    def data(self, corpus: str, *, bert: bool = False) -> DataConfig:
        """Where a corpus comes from, and how words or word pieces are read, as in released code."""
        mimic = corpus == "anemia"
        config = super().data(corpus, max_length=(None if bert else 2200) if mimic else "95%")
        options = dict(config.options)
        if corpus == "sst":
            options["preprocessing"] = {"digits": "qqq", **options.get("preprocessing", {})}
        if mimic and bert:
            options["excerpts"] = [[20, 276], [-256, None]]
        return config.replace(options=options)

    def model(self, corpus: str, encoder: str, attention: str, variant: str, pool: str = "sum") -> ModelConfig:
        """A model as in the released code: start, end and full stops are read, never attended."""
        options: dict[str, Any] = {"encoder": encoder, "attention": attention, "scaling": variant}
        if attention == "dot":
            options["dot_init"] = "kaiming"  # the authors' query starts uniform in ±1/√N
        if variant != "none":
            options["scaling_pool"] = pool
        if encoder == "bert":
            return ModelConfig(pretrained=self.pretrained, **options)
        options |= {"vectors": self.vector_files.get(corpus, self.vectors), "oov_scale": 1.0}
        options |= {"embedding_size": self.embedding_size, "hidden_size": self.hidden_size}
        return ModelConfig(boundaries=True, unattended=(".",), **options)

    def training(self, corpus: str, encoder: str, variant: str) -> TrainConfig:
        """How a model is trained; embeddings stay as they are; the lowest dev loss decides."""
        options: dict[str, Any] = {"amsgrad": True, "train_embeddings": False, "clip_norm": None}
        options |= {"monitor": "loss", "weight_decay": 1e-4, "weight_decays": {}, "epochs": self.epochs}
        if encoder == "bert":
            options |= {"epochs": self.bert_epochs, "learning_rate": 10 * BERT_RATE, "batch_size": 8}
            options |= {"shuffle": False, "learning_rates": {"encoder": BERT_RATE}}
        if variant == "none":
            options["epochs"] = self.epochs_without.get(corpus, {}).get(encoder, options["epochs"])
        return self.config(TrainConfig, **options)
