"""Parameters of the study of task-scaled attention (Chrysostomou & Aletras 2021)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from attnlib import quirks as quirk_names
from attnlib.config import DataConfig, Encoder, ModelConfig, Scaling
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import ByDataset, Datasets, NotNegative, Once, Positive, Seed, Size, Some, StudyParams

Kind = Literal["additive", "dot"]


class Params(StudyParams):
    """The parameters of `01_tasc`, each explained in its first cell; besides:

    texts     F1 always sees all test texts
    bert_*    the pretrained encoder has a cost of its own; its models are no part of `encoders`
    shown_cells  corpus, encoder and attention of the box plots of the paper's Figure 3 (`boxes`; none named: every
              encoder with the first corpus and attention) and of the models whose u its Figure 4 reads (`words`;
              none named: `grid.first_cell`)
    """

    unbalanced: Datasets = ()
    unbalanced_encoders: Once[Encoder] = ("mlp", "cnn")
    vector_files: ByDataset[str] = Field(default_factory=dict)
    oov_scale: NotNegative | None = 1.0
    embedding_size: Size = 50
    hidden_size: int = Field(128, ge=2)
    encoders: Some[Encoder] = ("lstm", "mlp")
    attentions: Some[Kind] = ("additive", "dot")
    variants: Some[Scaling] = ("none", "lin", "feat", "conv")
    seeds: Some[Seed] = (0, 1)
    epochs: Size = 5
    patience: Size | None = None
    epochs_without: ByDataset[dict[Encoder, Size]] = Field(default_factory=dict)
    learning_rate: Positive = 1e-3
    texts: Size | None = None
    baseline_texts: Size | None = None
    operator: Literal["pad", "delete", "mask", "unk"] = "pad"
    ig_steps: int = Field(50, ge=2)
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
