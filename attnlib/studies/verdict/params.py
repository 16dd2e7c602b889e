"""Parameters of the verdict: which models face all tests, and how the tests themselves are tested.

The models are a fraction of a factorial that still has every pair of parts. With k factors of m levels, the rows
whose level numbers sum to a multiple of m are an orthogonal array of strength k - 1: any k - 1 factors appear in
every combination, equally often (Box & Hunter 1961 for m = 2: the half fraction, whose main effects are free of
two-factor interactions from k = 4 on). With unequal numbers of levels, or with combinations that cannot work, pairs
may be missing; rows are then added until none is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Literal

from pydantic import Field, model_validator

from attnlib.config import Config, DataConfig, Encoder, ModelConfig, Projection, Regulariser, Scaling, TrainConfig
from attnlib.measures.diagnosticity import GUIDES
from attnlib.studies.params import ByDataset, NotNegative, Positive, Seed, Size, Some, StudyParams
from attnlib.utils.text import plural

Row = dict[str, Any]


class Params(StudyParams):
    """The parameters of `06_verdict`.

    Those that its first cell does not explain: `oov_scale` is the standard deviation of unknown words' vectors
    (None: that of the known ones); training stops after `patience` epochs without a lower dev loss; `counts` has
    clusters for information by rank, of which the largest number that the texts allow counts; other attention with
    the same output is searched for `adversary_texts` in `adversary_steps`; models of known honesty train on
    `guide_texts`, their attention guided by `guide_weight`.
    """

    profile: str = "smoke"
    limit: Size | None = 250
    embedding_size: Size = 16
    hidden_size: int = Field(16, ge=2)
    encoders: Some[Encoder] = ("lstm", "mlp")
    attentions: Some[Literal["additive", "dot"]] = ("additive", "dot")
    projections: Some[Projection] = ("softmax", "sparsemax")
    scalings: Some[Scaling] = ("none", "lin")
    regularisers: Some[Regulariser] = ("none", "tying")
    design: Literal["fraction", "whole"] = "fraction"
    oov_scale: NotNegative | None = 1.0
    seeds: Some[Seed] = (0, 1)
    epochs: Size = 5
    patience: Size | None = None
    learning_rate: Positive = 1e-2
    learning_rates: ByDataset[Positive] = Field(default_factory=dict)
    texts: Size | None = 40
    counts: Some[Size] = (20,)
    adversary_texts: Size = 20
    adversary_steps: Size = 30
    guide_seeds: Some[Seed] = (0, 1)
    guide_texts: Size | None = None
    guide_epochs: Size = 4
    guide_weight: Positive = 1.0
    guide_learning_rate: Positive = 2e-2

    @model_validator(mode="after")
    def _sense(self) -> Params:
        self._check_keys("learning_rates", known=self.corpora)
        for row in self.rows:
            self.model(**row)  # refuses what no model can be
        if not any(ModelConfig(encoder=encoder).contextual for encoder in self.encoders):
            raise ValueError(
                f"encoders: attention can only mislead where states mix words; got {list(self.encoders)}. Add a "
                "contextual encoder, such as lstm."
            )
        return self

    def facts(self) -> dict[str, Any]:
        """What the header of the report says."""
        return super().facts() | {"designs": len(self.rows), "texts": self.texts or "all test texts"}

    @property
    def setting(self) -> str:
        """What claims are judged on."""
        designs = f"{' and '.join(self.encoders)}, {len(self.rows)} designs"
        trained = f"{plural(len(self.seeds), 'training')} each, {self.texts or 'all'} test texts"
        return f"{super().setting}; {designs}, {trained}"

    def data(self, corpus: str) -> DataConfig:
        """Texts are cut at a length that 95% do not exceed, as in 01_tasc, whose models are used again."""
        return super().data(corpus, max_length="95%")

    @property
    def rows(self) -> list[Row]:
        """Encoder and parts of every model."""
        parts = {"attention": self.attentions, "projection": self.projections}
        parts |= {"scaling": self.scalings, "regulariser": self.regularisers}
        made = []
        for encoder in self.encoders:
            mixing = ModelConfig(encoder=encoder).contextual
            choose = whole if self.design == "whole" else fraction
            chosen = choose(parts, lambda row, m=mixing: m or row["regulariser"] != "mlm")
            made += [{"encoder": encoder, **row} for row in chosen]
        return made

    def model(self, encoder: str, attention: str, projection: str, scaling: str, regulariser: str) -> ModelConfig:
        """A model as 01_tasc makes it, with the projection and the regulariser of other papers.

        Tying and masked-word training compare states with word vectors, so that their states are as wide as those.
        """
        options = {"attention": attention, "projection": projection, "scaling": scaling, "regulariser": regulariser}
        if attention == "dot":
            options["dot_init"] = "kaiming"
        if scaling != "none":
            options["scaling_pool"] = "sum"
        if regulariser in ("tying", "mlm", "residual"):
            options["hidden_size"] = self.embedding_size
        return self.config(ModelConfig, encoder=encoder, boundaries=True, unattended=(".",), **options)

    def training(self, corpus: str) -> TrainConfig:
        """As 01_tasc trains."""
        rate = {"learning_rate": self.learning_rates.get(corpus, self.learning_rate), "learning_rates": {}}
        decay = {"weight_decay": 1e-4, "weight_decays": {}}
        return self.config(
            TrainConfig, amsgrad=True, train_embeddings=False, clip_norm=None, monitor="loss", **rate, **decay
        )

    @property
    def guides(self) -> list[tuple[str, str]]:
        """Encoder and guide of the models of known honesty."""
        mixing = [encoder for encoder in self.encoders if ModelConfig(encoder=encoder).contextual]
        plain = [(encoder, "none") for encoder in self.encoders]
        return plain + [(encoder, guide) for encoder in mixing[:1] for guide in GUIDES if guide != "none"]

    def guided(self, corpus: str, encoder: str) -> dict[str, Config]:
        """Data, model and training of known honesty: the texts of `data`, perhaps fewer of them.

        Additive attention by softmax; the made-up words of a shortcut have trained vectors. The training is short:
        a shortcut is learned in an epoch or two.
        """
        data, sizes = self.data(corpus), {"embedding_size": self.embedding_size, "hidden_size": self.hidden_size}
        own = {"epochs": self.guide_epochs, "learning_rate": self.guide_learning_rate}
        return {
            "data": data if self.guide_texts is None else data.replace(limit=self.guide_texts),
            "model": ModelConfig(encoder=encoder, vectors=self.vectors, **sizes),
            "train": TrainConfig(embedding_update="lazy", monitor="loss", **own),
        }


def whole(factors: Mapping[str, Sequence[Any]], works: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """Every combination that works, in the order of the levels."""
    rows = (dict(zip(factors, levels, strict=True)) for levels in product(*factors.values()))
    return [row for row in rows if works(row)]


def fraction(factors: Mapping[str, Sequence[Any]], works: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """A part of the combinations that work, in which every pair of levels that can work occurs.

    >>> rows = fraction({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    >>> [tuple(row.values()) for row in rows]
    [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    most = max(map(len, factors.values()))
    candidates = whole(factors, works)
    chosen = [row for row in candidates if sum(factors[f].index(row[f]) for f in factors) % most == 0]
    rest = [row for row in candidates if row not in chosen]
    missing = set().union(*map(pairs, candidates)) - set().union(*map(pairs, chosen))
    while missing:
        best = max(rest, key=lambda row: len(pairs(row) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return sorted(chosen, key=candidates.index)


def pairs(row: Row) -> set[frozenset]:
    """The pairs of levels of a row."""
    return {frozenset(two) for two in combinations(row.items(), 2)}
