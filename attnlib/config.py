"""ModelConfig, DataConfig, TrainConfig: immutable, validated, hashable, printable as YAML."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from attnlib.utils.errors import ConfigError, nearest, unknown
from attnlib.utils.registry import Registry

ENCODERS = ("none", "mlp", "cnn", "lstm", "gru", "transformer", "bert")
ATTENTIONS = ("additive", "dot", "deep")
PROJECTIONS = ("softmax", "sparsemax", "sparsegen", "entmax", "gumbel")
SCALINGS = ("none", "lin", "feat", "conv")
REGULARISERS = ("none", "concat", "residual", "tying", "mlm")


def _known(kind: str, own: tuple[str, ...]) -> AfterValidator:
    """A name of the kit's own, which need not import torch to be known, or one that was registered since."""

    def check(name: str) -> str:
        if name not in (names := {*own, *Registry.kinds.get(kind, ())}):
            raise ValueError(unknown(kind, name, names))
        return name

    return AfterValidator(check)


Encoder = Annotated[str, _known("encoder", ENCODERS)]
Attention = Annotated[str, _known("attention", ATTENTIONS)]
Projection = Annotated[str, _known("projection", PROJECTIONS)]
Scaling = Annotated[str, _known("scaling", SCALINGS)]
Regulariser = Annotated[str, _known("regulariser", REGULARISERS)]

PACKAGED_VECTORS = {"glove": 50, "word2vec": 300}
"""Word vectors that are downloaded by name, and their width."""

PARTS = ("embedding", "encoder", "attention", "scaling", "decoder")
"""Parameter groups of a model: what `TrainConfig` can freeze or give its own learning rate."""


class FrozenDict(dict):
    """A dict that refuses changes, so that a config stays what its digest says."""

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Configs are immutable. Make a changed copy with config.replace(...).")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple:  # unpickling would set items one by one
        return type(self), (dict(self),)


Rates = Annotated[dict[str, Annotated[float, Field(ge=0)]], AfterValidator(FrozenDict)]
Options = Annotated[dict[str, Any], AfterValidator(FrozenDict)]


class Config(BaseModel):
    """Base of the three: unknown keys and wrong values are errors that name the nearest match."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(self._explain(error)) from None

    def __hash__(self) -> int:  # pydantic would hash the fields, and dicts have no hash
        return hash((type(self).__name__, self.digest))

    @classmethod
    def _explain(cls, error: ValidationError) -> str:
        lines = []
        for problem in error.errors():
            first, *inner = problem["loc"] or ("",)
            name = f"{first}{''.join(f'[{part}]' for part in inner)}"
            came = problem["input"]
            got = repr(came) if len(repr(came)) <= 100 else f"{repr(came)[:99]}…"
            if problem["type"] == "extra_forbidden":
                lines.append(unknown(f"option of {cls.__name__}", name, cls.model_fields))
            elif problem["type"] == "literal_error":
                allowed = problem["ctx"]["expected"]
                guess = nearest(came, allowed.replace("'", "").replace(" or ", ", ").split(", "))
                meant = f" Did you mean {guess!r}?" if guess else ""
                lines.append(f"{cls.__name__}: {name} must be {allowed}; got {got}.{meant}")
            elif problem["type"] == "missing":
                lines.append(f"{cls.__name__}: {name} is missing.")
            elif problem["type"] == "value_error":
                where = f"{name}: " if name else ""
                lines.append(f"{cls.__name__}: {where}{problem['ctx']['error']}")
            else:
                wrong = f"{name}: {problem['msg']}".replace(": Input should", " must")
                lines.append(f"{cls.__name__}: {wrong}; got {got}.")
        return "\n".join(lines)

    def replace(self, **changes: Any) -> Self:
        """A copy with some values changed, validated again."""
        return type(self)(**{**self.model_dump(), **changes})

    def to_yaml(self, *, only_changed: bool = False) -> str:
        """The config as YAML; `only_changed` leaves out values that are at their default."""
        values = self.model_dump(mode="json", exclude_defaults=only_changed)
        return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)

    def model_copy(self, **options: Any) -> Self:
        """A copy, whose digest is its own."""
        copied = super().model_copy(**options)
        copied.__dict__.pop("digest", None)
        return copied

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, made once: a config that names a run is looked up many times."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


class DataConfig(Config):
    """Which corpus, and how its texts become tokens. `load_corpus(**config)` takes the same names.

    `attnlib.data.corpora.data_config` makes one from what users write, and checks the names of corpus and options.

    >>> data = al.DataConfig(corpus="planted", options={"n_train": 60}, limit=20)
    >>> len(al.load_corpus(data).train)
    20
    """

    corpus: str
    options: Options = Field(default_factory=FrozenDict)
    """Options of that corpus's own reader, such as `task=1` for bAbI, `vocabulary=200` for planted or, for a
    table of training texts, `test="b.csv"`."""
    limit: int | None = Field(None, ge=1)
    """At most this many texts per split, sampled with `seed`."""
    min_df: int | None = Field(None, ge=1)
    """None: the corpus's own value (Jain & Wallace's where they have one)."""
    max_length: Annotated[int, Field(ge=1)] | Literal["95%"] | None = None
    """Longer texts are cut, and the count is noted. `95%`: at a length that about 95% of the training texts do not
    exceed (`attnlib.data.selection.usual_length`)."""
    strict_length_filter: bool = False
    """Jain & Wallace's `filterbylength`: keep min < length < max, strictly."""
    seed: int = Field(0, ge=0)


class ModelConfig(Config):
    """A point of the model space: encoder × attention × projection × scaling × regulariser.

    Each is a name of the kit's own or one that was registered (`attnlib.models.attention.ATTENTIONS` and its like).

    >>> print(al.ModelConfig(encoder="gru", hidden_size=64).to_yaml(only_changed=True), end="")
    encoder: gru
    hidden_size: 64
    >>> al.ModelConfig(encoder="gruu")
    Traceback (most recent call last):
    attnlib.utils.errors.ConfigError: ModelConfig: encoder: Unknown encoder 'gruu'. Did you mean 'gru'? ...
    """

    encoder: Encoder = "lstm"
    attention: Attention = "additive"
    projection: Projection = "softmax"
    scaling: Scaling = "none"
    regulariser: Regulariser = "none"
    hierarchical: bool = False
    """HAN (Serrano & Smith): words attended within sentences, sentences within the text. False: FLAN."""

    boundaries: bool = False
    """A start and an end token around each text, read by the encoder and never attended (Jain & Wallace)."""
    unattended: tuple[str, ...] = ()
    """Words the encoder reads and attention never sees, such as (".",) in TaSc's code."""

    vectors: str = "none"
    """Word vectors: `none` (random), `glove` (packaged, 50 wide), `word2vec` (packaged, 300 wide) or the path of a
    file in the text format of GloVe and fastText or the binary format of word2vec."""
    oov: Literal["normal", "zero"] = "normal"
    """Words without a vector: drawn from N(0, oov_scale²) (TaSc), or zero (Jain & Wallace)."""
    oov_scale: float | None = Field(None, ge=0.0)
    """None: the standard deviation of the vectors found. TaSc draws with scale 1."""
    embedding_size: int = Field(50, ge=1)
    """With packaged vectors, their width unless given."""
    hidden_size: int = Field(128, ge=2)
    """Width of h_i: both directions of a recurrent encoder, all kernels of a cnn together. Where a regulariser
    compares h_i with e_i, the size that is not given follows the other."""
    layers: int = Field(1, ge=1, le=12)
    bidirectional: bool = True
    kernel_sizes: tuple[int, ...] = (1, 3, 5, 7)
    heads: int = Field(1, ge=1)
    transformer_norm: Literal["pre", "post"] = "pre"
    """Layers normalised first, with GELU and small positions of learned size; or last, with ReLU and positions of
    size one (Vaswani et al. 2017)."""
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """Applied to h_i in training."""
    embedding_dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """Applied in training to what the encoder reads; without an encoder, to what attention reads."""
    sentence_dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """The same before the second encoder of a hierarchical model, the one over sentences."""
    logit_dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """Applied in training to the logits themselves, as Serrano & Smith's classification layer does."""

    attention_size: int | None = Field(None, ge=1)
    """Inner width of additive and deep attention; None: half of the hidden width."""
    attention_layers: int = Field(2, ge=1)
    """Hidden layers of deep attention."""
    dot_init: Literal["normal", "kaiming"] = "normal"
    """Query of dot attention: N(0, 1) (Tutek & Šnajder, App. C), or torch's default, which stays near uniform."""
    dot_scaled: bool = True
    """Divide dot scores by the square root of the width (Wen et al.: only where there is a query)."""

    sparsegen_lambda: float = Field(0.0, lt=1.0)
    entmax_alpha: float = Field(1.5, ge=1.0)
    gumbel_tau: float = Field(0.8, gt=0.0)
    gumbel_noise: Literal["train", "always", "never"] = "train"

    scaling_pool: Literal["sum", "mean", "max", "direct"] = "sum"
    """How TaSc turns a scaled embedding into one number (footnote 4); `direct` uses u itself (lin alone)."""
    scaling_channels: int = Field(15, ge=1)

    tying_delta: float = Field(1.0, ge=0.0)
    tying_squared: bool = True
    mlm_eta: float = Field(0.3, ge=0.0)
    mlm_probability: float = Field(0.15, gt=0.0, lt=1.0)

    pretrained: str = "minilm"
    """For encoder bert: `minilm` (packaged), a local folder or a hub id, which NAME@REVISION pins."""

    @property
    def contextual(self) -> bool:
        """Whether h_i depends on words other than x_i."""
        return self.encoder not in ("none", "mlp")

    @model_validator(mode="after")
    def _sizes_follow(self) -> Self:
        """Where h is compared with e, a size that was not given follows the other; of both, hidden_size follows.

        Packaged word vectors decide `embedding_size` where it was not given, and so does a file, not read here.
        """
        if "embedding_size" not in self.model_fields_set:
            self.__dict__["embedding_size"] = PACKAGED_VECTORS.get(self.vectors, self.embedding_size)
        if self._compares and "hidden_size" not in self.model_fields_set:
            self.__dict__["hidden_size"] = self.embedding_size
        if self._compares and "embedding_size" not in self.model_fields_set and self.vectors == "none":
            self.__dict__["embedding_size"] = self.width
        return self

    @property
    def _compares(self) -> bool:
        """Whether the regulariser needs h as wide as e, and the config decides both widths."""
        return self.regulariser in ("residual", "tying", "mlm") and self.encoder not in ("none", "bert")

    @model_validator(mode="after")
    def _combinations(self) -> Self:
        if self.encoder in ("lstm", "gru") and self.bidirectional and self.hidden_size % 2:
            raise ValueError(f"hidden_size must be even for two directions; got {self.hidden_size}.")
        kernels = self.kernel_sizes
        if not kernels or any(k < 1 or k % 2 == 0 for k in kernels):
            raise ValueError(f"kernel_sizes must be odd and positive, to keep positions aligned; got {kernels}.")
        if self.encoder == "cnn" and self.hidden_size < len(kernels):
            raise ValueError(f"hidden_size {self.hidden_size} is too small for {len(kernels)} kernel sizes.")
        if self.encoder == "transformer" and self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} is not divisible by heads {self.heads}.")
        if (width := PACKAGED_VECTORS.get(self.vectors, self.embedding_size)) != self.embedding_size:
            raise ValueError(
                f"vectors {self.vectors!r} are {width} wide; got embedding_size {self.embedding_size}. Use {width}."
            )
        if self.encoder == "bert" and self.vectors != "none":
            raise ValueError("encoder 'bert' brings its own embeddings; use vectors='none'.")
        if self.scaling_pool == "direct" and self.scaling not in ("none", "lin"):
            raise ValueError("scaling_pool 'direct' uses u itself; use scaling='lin' or scaling_pool='sum'.")
        if self._compares and self.width != self.embedding_size:
            raise ValueError(
                f"regulariser {self.regulariser!r} compares h with e, so their widths must agree; got hidden "
                f"width {self.width} and embedding_size {self.embedding_size}. Leave one of the two sizes out, and "
                "it follows the other."
            )
        if self.regulariser == "mlm" and not self.contextual:
            raise ValueError(
                f"regulariser 'mlm' guesses a hidden word from its neighbours, and encoder {self.encoder!r} reads "
                "none. Use a contextual encoder (cnn, lstm, gru, transformer, bert)."
            )
        if self.sentence_dropout and not self.hierarchical:
            raise ValueError("sentence_dropout needs hierarchical=True. Use embedding_dropout.")
        if self.hierarchical and self.encoder == "bert":
            raise ValueError("hierarchical models read sentence vectors, 'bert' words alone. Use lstm or gru.")
        return self

    @property
    def width(self) -> int:
        """Width of the encoder's output, where the config alone decides it (not for bert)."""
        if self.encoder == "none":
            return self.embedding_size
        if self.encoder == "cnn":
            return self.hidden_size // len(self.kernel_sizes) * len(self.kernel_sizes)
        return self.hidden_size


class TrainConfig(Config):
    """How a model is trained. Defaults follow Jain & Wallace, with early stopping on dev.

    >>> short = al.TrainConfig(epochs=2)
    >>> short.replace(patience=None).epochs
    2
    """

    epochs: int = Field(8, ge=0)
    batch_size: int = Field(32, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    learning_rates: Rates = Field(default_factory=FrozenDict)
    """Rates of single parts: embedding, encoder, attention, scaling, decoder."""
    weight_decay: float = Field(1e-5, ge=0)
    weight_decays: Rates = Field(default_factory=lambda: FrozenDict(attention=0.0))
    amsgrad: bool = False
    train_embeddings: bool = True
    embedding_update: Literal["dense", "lazy"] = "dense"
    """dense: Adam as the papers ran it, every word moves at every step. lazy: a word moves only in steps whose
    batch contains it, with its own Adam state; cheaper where vectors are wide and words many."""
    freeze: tuple[str, ...] = ()
    """Parts that keep their initial (or warm-started) values."""
    clip_norm: float | None = Field(5.0, gt=0)
    shuffle: bool = True
    """Batches of similar length in random order; False: every epoch goes through the texts in order of length."""
    patience: int | None = Field(3, ge=1)
    """Stop after this many epochs without a better dev score; None: never."""
    monitor: Literal["loss", "accuracy", "f1", "auc", "train_loss"] = "accuracy"
    """Dev score that picks the epoch to keep, equal ones by the dev loss. `train_loss` needs no dev texts."""
    schedule: Literal["none", "plateau"] = "none"
    """plateau: halve the rate after an epoch without a better dev score."""
    class_weights: bool = False
    """Weight the loss by inverse class frequency."""
    device: str = "auto"
    precision: Literal["float32", "float64", "tf32", "bfloat16", "float16"] = "float32"
    """Of the training; tf32, bfloat16 and float16 (mixed precision) need CUDA. What a trained model answers is
    computed in whole float32 or float64 in any case."""

    @model_validator(mode="after")
    def _parts(self) -> Self:
        for option in ("learning_rates", "weight_decays", "freeze"):
            for part in getattr(self, option):
                if part not in PARTS:
                    raise ValueError(unknown(f"part in {option}", part, PARTS))
        return self
