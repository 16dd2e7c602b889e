"""Word-level objectives (Tutek & Šnajder 2020): parameters, grid, results.

    params = Params(corpora=["rotten_tomatoes"], vectors="glove")
    found = results(params)         # tidy frames, from the store where it has them
    found.swaps, found.texts, found.information, found.distances

The encoder is a BiLSTM as wide as its embeddings, which stay as they are in every variant: tying, residual and MLM
compare the two, and the variants shall differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from pydantic import Field, model_validator

from attnlib.config import Config, DataConfig, ModelConfig, TrainConfig
from attnlib.errors import DataError, unknown
from attnlib.grid import GridResult, run_grid
from attnlib.measures.information import Estimator
from attnlib.spec import Corpora, Fit, Run, measure
from attnlib.studies.corpora import check_corpora
from attnlib.studies.tying_mlm_measures import behaviour, distances, imitate, knowledge

PAPER = "Tutek & Šnajder 2020"
VARIANTS = ("base", "concat", "residual", "tying", "mlm")
REGULARISED = ("tying", "mlm")
"""The two variants that add to the loss; the paper's own proposals."""
Variant = Literal["base", "concat", "residual", "tying", "mlm"]
Kind = Literal["additive", "dot"]
MI_BATCH = 4096
"""Occurrences a step of k-means: what `knowledge` takes when it is told nothing."""
MI_PAPER = (1000, 1000, 100, 1_000_000)
"""Words, clusters, batch and occurrences of the paper's section 3.4."""
IMITATE = f"{imitate.__module__}:{imitate.__name__}"


class Params(Config):
    """The parameters of the notebook.

    paths, vector_files   corpora and word vectors that you bring as files: corpus -> file or folder
    delta, eta            weights of tying and MLM in every table but the ablation; `eta_of`: corpus -> its own eta,
                          since the MLM loss is summed over a text and grows with its length
    deltas, etas          weights of the ablation, with additive attention and the first `few` seeds
    layers                depths beside one, with additive attention: of the base model with every seed, of the
                          other `layer_variants` with the first `few`
    initialisations       of the query of dot attention (App. C), base model
    lambdas               adversaries of `adversary_bases`, additive attention, first seed, each trained on
                          `adversary_texts` training texts (None: all); on `adversary_corpora` (none: `corpora`),
                          which may name corpora that no other table has, as the paper's Figure 1 does
    mi_*                  words, clusters, batch of k-means and occurrences at most behind the mutual information,
                          additive attention
    shown                 sentences whose per-token probabilities are drawn
    """

    corpora: tuple[str, ...] = ("planted",)
    paths: dict[str, str] = Field(default_factory=dict)
    limit: int | None = Field(None, ge=1)
    vectors: str = "none"
    vector_files: dict[str, str] = Field(default_factory=dict)
    embedding_size: int = Field(50, ge=2)
    variants: tuple[Variant, ...] = VARIANTS
    attentions: tuple[Kind, ...] = ("additive", "dot")
    seeds: tuple[int, ...] = (0, 1)
    few: int = Field(1, ge=1)
    epochs: int = Field(8, ge=1)
    patience: int | None = Field(2, ge=1)
    batch_size: int = Field(32, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    permutations: int = Field(10, ge=1)
    delta: float = Field(1.0, gt=0)
    deltas: tuple[float, ...] = (1.0, 10.0, 20.0, 30.0)
    squared: bool = True
    eta: float = Field(0.3, gt=0)
    eta_of: dict[str, float] = Field(default_factory=dict)
    etas: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 5.0)
    layers: tuple[int, ...] = (2, 3)
    layer_variants: tuple[Variant, ...] = ("base", "concat", "tying", "mlm")
    initialisations: tuple[Literal["normal", "kaiming"], ...] = ("normal", "kaiming")
    lambdas: tuple[float, ...] = (0.0, 0.01, 0.1, 1.0)
    adversary_corpora: tuple[str, ...] = ()
    adversary_bases: tuple[Variant, ...] = ("base", "tying", "mlm")
    adversary_texts: int | None = Field(None, ge=1)
    adversary_epochs: int = Field(8, ge=1)
    mi_words: int = Field(1000, ge=2)
    mi_clusters: int = Field(1000, ge=2)
    mi_batch: int = Field(MI_BATCH, ge=1)
    mi_occurrences: int | None = Field(1_000_000, ge=2)
    mi_inputs: Literal["words", "clusters"] = "words"
    mi_estimator: Estimator = "plugin"
    shown: int = Field(3, ge=0)

    @model_validator(mode="after")
    def _sense(self) -> Params:
        check_corpora(self.all_corpora)
        for option in ("corpora", "variants", "attentions", "seeds"):
            if not getattr(self, option):
                raise ValueError(f"{option} must name at least one.")
        lists = ("corpora", "variants", "attentions", "seeds", "deltas", "etas", "layers", "lambdas")
        for option in (*lists, "adversary_corpora"):
            values = getattr(self, option)
            if len(set(values)) < len(values):
                raise ValueError(f"{option} must name each once; got {list(values)}.")
        if "base" not in self.variants:
            raise ValueError(f"variants must hold 'base': every claim compares with it; got {list(self.variants)}.")
        if "additive" not in self.attentions:
            raise ValueError("attentions must hold 'additive': ablations, depth and adversaries use it.")
        for option in ("layer_variants", "adversary_bases"):
            for name in getattr(self, option):
                if name not in self.variants:
                    raise ValueError(unknown(f"variant in {option}", name, self.variants))
        for option in ("paths", "vector_files", "eta_of"):
            for name in getattr(self, option):
                if name not in self.all_corpora:
                    raise ValueError(unknown(f"corpus in {option}", name, self.all_corpora))
        if any(value <= 0 for value in (*self.deltas, *self.etas, *self.eta_of.values())):
            raise ValueError("deltas and etas weigh a loss and must be positive; the base model is the zero.")
        if any(value < 0 for value in self.lambdas) or any(not 2 <= depth <= 12 for depth in self.layers):
            raise ValueError(
                f"lambdas must not be negative, layers lie in 2 … 12; got {self.lambdas}, {self.layers}."
            )
        for corpus in self.all_corpora:
            self.model(corpus, "mlm", "additive")
        return self

    @property
    def attacked(self) -> tuple[str, ...]:
        """The corpora of the adversaries."""
        return self.adversary_corpora or self.corpora

    @property
    def all_corpora(self) -> tuple[str, ...]:
        """The corpora of the tables, then those that only adversaries meet."""
        return tuple(dict.fromkeys((*self.corpora, *self.adversary_corpora)))

    def data(self, corpus: str) -> DataConfig:
        """Where a corpus comes from."""
        options = {"path": self.paths[corpus]} if corpus in self.paths else {}
        return DataConfig(corpus=corpus, options=options, limit=self.limit)

    def strength(self, corpus: str, variant: str) -> float:
        """Weight of the variant's loss outside the ablation; zero where it adds none."""
        return {"tying": self.delta, "mlm": self.eta_of.get(corpus, self.eta)}.get(variant, 0.0)

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
            own |= {"tying_delta": strength, "tying_squared": self.squared}
        if variant == "mlm":
            own |= {"mlm_eta": strength}
        if attention == "dot":
            own |= {"dot_init": init}
        return ModelConfig(
            attention=attention,
            vectors=self.vector_files.get(corpus, self.vectors),
            embedding_size=self.embedding_size,
            hidden_size=self.embedding_size,
            layers=layers,
            **own,
        )

    @property
    def training(self) -> TrainConfig:
        """Table 4 of the paper; the epoch with the lowest dev loss is kept."""
        return TrainConfig(
            epochs=self.epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            monitor="loss",
            amsgrad=True,
            train_embeddings=False,
        )

    @property
    def adversary_training(self) -> TrainConfig:
        """The epoch with the lowest training loss is kept, as Wiegreffe & Pinter do."""
        patience = min(10, self.adversary_epochs)
        return self.training.replace(monitor="train_loss", epochs=self.adversary_epochs, patience=patience)


def fit(
    params: Params,
    corpus: str,
    variant: str,
    attention: str,
    seed: int,
    *,
    layers: int = 1,
    strength: float | None = None,
    init: str = "normal",
) -> Fit:
    """One model of the grid, labelled with what tells it apart."""
    usual = params.strength(corpus, variant)
    strength = usual if strength is None else strength
    label = {"variant": variant, "layers": layers, "strength": strength, "chosen": strength == usual}
    label["init"] = init if attention == "dot" else "–"
    model = params.model(corpus, variant, attention, layers=layers, strength=strength, init=init)
    return Fit(data=params.data(corpus), model=model, train=params.training, seed=seed, label=label)


def models(params: Params) -> list[Fit]:
    """Every classifier of the study, each once: Table 1, ablations, depth, initialisation."""
    few = params.seeds[: params.few]
    found = []
    for corpus in params.corpora:
        found += [
            fit(params, corpus, variant, attention, seed)
            for variant in params.variants
            for attention in params.attentions
            for seed in params.seeds
        ]
        for variant, weights in (("tying", params.deltas), ("mlm", params.etas)):
            if variant in params.variants:
                found += [fit(params, corpus, variant, "additive", s, strength=w) for w in weights for s in few]
        for variant in params.layer_variants:
            seeds = params.seeds if variant == "base" else few
            found += [
                fit(params, corpus, variant, "additive", seed, layers=depth)
                for depth in params.layers
                for seed in seeds
            ]
        if "dot" in params.attentions:
            found += [
                fit(params, corpus, "base", "dot", seed, init=init)
                for init in params.initialisations
                for seed in params.seeds
            ]
    return list(dict.fromkeys(found))


def adversary(params: Params, corpus: str, variant: str, lam: float) -> Fit:
    """A fresh model of the base's architecture without its regulariser: eq. 6 has no other term."""
    base = fit(params, corpus, variant, "additive", params.seeds[0])
    plain = base.model.replace(regulariser="none") if variant in REGULARISED else base.model
    return Fit(
        data=base.data,
        model=plain,
        train=params.adversary_training,
        seed=params.seeds[0] + 10,
        warm_start=base,
        trainer=IMITATE,
        params={"lam": lam, "texts": params.adversary_texts},
    )


def grid(params: Params | Mapping[str, Any]) -> list[Run]:
    """Every run of the study."""
    params = params if isinstance(params, Params) else Params(**params)
    runs = [measure(behaviour, model, permutations=params.permutations) for model in models(params)]
    # named only where it differs: a result keeps its name, and what was computed stays known
    batch = {} if params.mi_batch == MI_BATCH else {"batch_size": params.mi_batch}
    for corpus in params.corpora:
        for variant in [v for v in params.variants if v != "concat"]:  # wider than its input: no Table 2 for it
            runs += [
                measure(
                    knowledge,
                    fit(params, corpus, variant, "additive", seed),
                    words=params.mi_words,
                    k=params.mi_clusters,
                    most=params.mi_occurrences,
                    inputs=params.mi_inputs,
                    estimator=params.mi_estimator,
                    **batch,
                )
                for seed in params.seeds
            ]
    for corpus in params.attacked:
        for variant in params.adversary_bases:
            base = fit(params, corpus, variant, "additive", params.seeds[0])
            runs += [
                measure(distances, base, adversary(params, corpus, variant, lam), label={"lam": lam})
                for lam in params.lambdas
            ]
    return runs


@dataclass
class Results:
    """Tidy frames, each led by dataset, encoder, attention, projection, variant, seed, layers,
    strength (weight of the variant's loss), chosen (whether that is the weight of Table 1) and init.

    swaps        one row a model, test text, swap and draw: truth, prediction, change
    texts        one row a model and test text: confidence, token_probability, entropy, …
    kept         one row a model: the epoch kept
    information  one row a model and sample of words
    distances    one row an adversary and test text: lam, tvd, jsd
    grid         what was computed, what came from the store, what failed
    """

    swaps: pd.DataFrame
    texts: pd.DataFrame
    kept: pd.DataFrame
    information: pd.DataFrame
    distances: pd.DataFrame
    grid: GridResult


def load(params: Params) -> Corpora:
    """The corpora of the study. One without two classes is refused, before anything is trained."""
    loaded = Corpora()
    for name in params.all_corpora:
        corpus = loaded[params.data(name)]
        if len(corpus.classes) != 2:
            named = ", ".join(corpus.classes[:6]) + (", …" if len(corpus.classes) > 6 else "")
            raise DataError(
                f"{corpus.name!r} has {len(corpus.classes)} classes ({named}). This study measures F1 of the "
                "positive one of two. Choose a corpus with two classes, or keep the texts of two classes of yours."
            )
    return loaded


def results(params: Params, executor: Any = None, corpora: Corpora | None = None) -> Results:
    """Compute what the store does not hold, and gather. `corpora`: what `load` gave, where it is there already."""
    found = run_grid(
        grid(params), executor=executor, corpora=corpora or load(params), title="word-level objectives"
    )
    return Results(
        swaps=found.frame("swaps"),
        texts=found.frame("texts"),
        kept=found.frame("kept"),
        information=found.frame("knowledge"),
        distances=found.frame("distances") if params.lambdas and params.adversary_bases else pd.DataFrame(),
        grid=found,
    )


def main(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 1's models: one layer, the chosen weights, the normal query."""
    return frame[frame["chosen"] & (frame["layers"] == 1) & (frame["init"] != "kaiming")]
