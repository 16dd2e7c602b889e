"""Parameters of the study of task-scaled attention (Chrysostomou & Aletras 2021)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib import quirks as quirk_names
from attnlib.config import DataConfig, Encoder, ModelConfig, Scaling
from attnlib.studies.datasets import Dataset
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
from attnlib.utils.text import plural

Kind = Literal["additive", "dot"]
NAMES = {
    "alpha": "α", "grad_alpha": "∇α", "alpha_grad": "α∇α",
    "omission": "WO", "input_x_grad": "x∇x", "integrated_gradients": "IG",
    "additive": "Tanh", "dot": "Dot",
    "none": "No-TaSc", "lin": "Lin-TaSc", "feat": "Feat-TaSc", "conv": "Conv-TaSc",
    "bert": "BERT", "lstm": "LSTM", "gru": "GRU", "mlp": "MLP", "cnn": "CNN", "transformer": "Transformer",
}  # fmt: skip
"""Our names as the paper writes them."""


class Params(StudyParams):
    """The parameters of `01_tasc`.

    unbalanced    corpora with few texts of a class, for no TaSc and Lin-TaSc alone, with `unbalanced_encoders`
    vector_files  corpus -> file of word vectors, where corpora differ; they are not trained
    oov_scale     standard deviation of unknown words' vectors; None: that of the known ones
    patience      epochs without a lower dev loss after which training stops; None: never
    epochs_without  corpus -> encoder -> epochs without TaSc, where they differ
    texts, baseline_texts  test texts of the erasure tests, and of word omission and gradients; F1 sees all
    operator      what erasing a word means; `ig_steps`: of integrated gradients
    quirks        deviations of the authors' code to reproduce
    bert_*        the pretrained encoder has a cost of its own; its models are no part of `encoders`. What is on
                  top of it learns ten times as fast; `bert_frozen` keeps it as it is
    shown_cells   corpus, encoder and attention of the box plots of Figure 3 (`boxes`; none named: every encoder
                  with the first corpus and attention) and of the models whose u Figure 4 reads (`words`; none
                  named: `grid.first_cell`)
    pooling_cell  encoder and attention of the pooling ablation; None: mlp, additive, if there
    """

    corpora: Corpora = (Dataset("rotten_tomatoes"),)
    unbalanced: Datasets = ()
    unbalanced_encoders: Once[Encoder] = ("mlp", "cnn")
    limit: Size | None = 800
    vectors: str = "glove"
    vector_files: ByDataset[str] = Field(default_factory=dict)
    oov_scale: NotNegative | None = 1.0
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
    operator: Literal["pad", "delete", "mask", "unk"] = "pad"
    ig_steps: int = Field(32, ge=2)
    quirks: Once[str] = ()
    pretrained: str = "minilm"
    bert_variants: Once[Scaling] = ()
    bert_attentions: Some[Kind] = ("additive",)
    bert_seeds: Some[Seed] = (0,)
    bert_frozen: bool = False
    bert_learning_rate: Positive = 1e-5
    bert_epochs: Size = 3
    bert_limit: Size | None = None
    bert_texts: Size | None = None
    bert_baselines: bool = True
    shown_cells: dict[Literal["boxes", "words"], tuple[tuple[str, Encoder, Kind], ...]] = Field(
        default_factory=dict
    )
    pooling_cell: tuple[Encoder, Kind] | None = None

    @model_validator(mode="after")
    def _sense(self) -> Params:
        if "bert" in self.encoders:
            raise ValueError("encoder 'bert' has parameters of its own: leave it out here and set bert_variants.")
        for option, variants in (("variants", self.variants), ("bert_variants", self.bert_variants)):
            if variants and not {"none", "lin"} <= set(variants):
                raise ValueError(f"{option} must hold 'none' and 'lin': every claim compares them; got {variants}.")
        for option in ("seeds", "attentions"):
            alone = set(getattr(self, f"bert_{option}")) - set(getattr(self, option))
            if self.bert_variants and alone:
                raise ValueError(f"bert_{option} {sorted(alone)} are not among {option}: nothing to compare with.")
        self._check_cells()
        self._check_keys("vector_files", "epochs_without", known=self.all_corpora)
        if both := set(self.corpora) & set(self.unbalanced):
            raise ValueError(
                f"unbalanced: {', '.join(sorted(both))} is among corpora; give it a `name` of its own."
            )
        if self.quirks:
            from attnlib.erasure.flips import FLIP_QUIRKS

            quirk_names.checked(self.quirks, FLIP_QUIRKS)
        sizes = {"embedding_size": self.embedding_size, "hidden_size": self.hidden_size}
        for corpus in self.corpora:
            for encoder in self.encoders:  # refuses what no model can be
                ModelConfig(encoder=encoder, vectors=self.vector_files.get(corpus, self.vectors), **sizes)
        return self

    def _check_cells(self) -> None:
        known = {(c, e, a) for c in self.corpora for e in self.encoders for a in self.attentions}
        bert = {(c, "bert", a) for c in self.corpora for a in self.bert_attentions if self.bert_variants}
        named = {
            "shown_cells: boxes": (self.shown_cells.get("boxes", ()), known | bert),
            "shown_cells: words": (self.shown_cells.get("words", ()), known),  # BERT's u is one of word pieces
            "pooling_cell": ([(self.corpora[0], *self.pooled)], known),
        }
        for option, (wanted, allowed) in named.items():
            for cell in wanted:
                if cell not in allowed:
                    grid = f"corpora {', '.join(self.corpora)}; encoders {', '.join(self.encoders)}; attentions "
                    grid += ", ".join(self.attentions)
                    raise ValueError(
                        f"{option} names the cell {', '.join(cell)}, which is not in the grid: {grid}."
                    )
            if len(set(wanted)) < len(wanted):
                raise ValueError(f"{option} must name each cell once; got {list(wanted)}.")

    def facts(self) -> dict[str, Any]:
        """What the header of the report says."""
        texts = f"at most {self.texts:,}" if self.texts else "all test texts"
        return super().facts() | {
            "erased_from": texts,
            "pretrained": self._bert,
            "quirks": list(self.quirks) or "none",
        }

    @property
    def setting(self) -> str:
        """What claims are judged on."""
        encoders = ", ".join(NAMES.get(e, e) for e in self.encoders)
        told = f"{super().setting}; {encoders} with {' and '.join(NAMES[a] for a in self.attentions)}, "
        told += f"{plural(len(self.seeds), 'training')} per cell, {self.texts or 'all'} test texts"
        return f"{told}; {self._bert}" if self.bert_variants else told

    @property
    def _bert(self) -> str:
        if not self.bert_variants:
            return "no pretrained encoder"
        trained, texts = "frozen" if self.bert_frozen else "fine-tuned", self.bert_texts or "all"
        return f"{self.pretrained} ({trained}), {plural(len(self.bert_seeds), 'training')}, {texts} test texts"

    @property
    def pooled(self) -> tuple[str, str]:
        """Encoder and attention of the pooling ablation."""
        if self.pooling_cell is not None:
            return self.pooling_cell
        encoder = "mlp" if "mlp" in self.encoders else self.encoders[0]
        return encoder, "additive" if "additive" in self.attentions else self.attentions[0]

    @property
    def datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Parameters that name data sets, with what they name."""
        return {"corpora": self.corpora, "unbalanced": self.unbalanced}

    def data(self, corpus: str, *, bert: bool = False) -> DataConfig:
        """Where a corpus comes from, and how the word models or BERT read it, as in the released code."""
        mimic = corpus == "anemia"
        longest = (None if bert else 2200) if mimic else "95%"
        config = super().data(corpus, max_length=longest)
        options = dict(config.options)
        if corpus == "sst":
            options["preprocessing"] = {"digits": "qqq", **options.get("preprocessing", {})}
        if mimic and bert:
            options["excerpts"] = [[20, 276], [-256, None]]
        limit = self.bert_limit if bert and self.bert_limit else config.limit
        return config.replace(options=options, limit=limit)
