"""Any Hugging Face encoder as the encoder: last hidden states of word pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.data.pretrained import pinned, reading, refuse_pickles
from attnlib.data.readers import packaged
from attnlib.models.encoders import Averaged, blank
from attnlib.utils.errors import ConfigError
from attnlib.utils.extras import needs

_given: ContextVar[dict[str, Any] | None] = ContextVar("architecture", default=None)


@contextmanager
def architecture(values: dict[str, Any]) -> Iterator[None]:
    """Inside, encoders are built from this configuration with random weights: a saved model brings its own."""
    token = _given.set(values)
    try:
        yield
    finally:
        _given.reset(token)


class Bert(Averaged, nn.Module):
    """Last hidden states of a pretrained encoder (Devlin et al. 2019 and its successors).

    embedded (B, T, D) word-piece embeddings, mask (B, T) -> (B, T, width), zero where padded. The model adds its
    own positions and token types; its word embeddings are a part of the classifier, the unused pooler is dropped.
    """

    self_attentive = True

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        if getattr(network, "pooler", None) is not None:
            network.pooler = None
        network.set_input_embeddings(nn.Identity())
        self.network = network
        self.width = network.config.hidden_size

    @classmethod
    def from_config(cls, config: ModelConfig) -> tuple[Bert, nn.Embedding]:
        """The encoder of `config.pretrained` and its word embeddings."""
        network = load_pretrained(config.pretrained)
        embedding = network.get_input_embeddings()
        encoder = cls(network)
        compares = config.regulariser in ("residual", "tying", "mlm")
        if compares and encoder.width != embedding.embedding_dim:
            raise ConfigError(
                f"regulariser {config.regulariser!r} compares h with e, so their widths must agree; "
                f"{config.pretrained!r} has hidden width {encoder.width} and word embeddings "
                f"{embedding.embedding_dim} wide. Use another model or regulariser 'none' or 'concat'."
            )
        return encoder, embedding

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        out = self.network(inputs_embeds=embedded, attention_mask=mask.long())
        return blank(out.last_hidden_state, mask)

    def self_attention(self, embedded: Tensor, mask: Tensor) -> list[Tensor]:
        """Weights (B, heads, T, T) of every layer, which plain attention alone returns (see `load_pretrained`)."""
        found = self.network(inputs_embeds=embedded, attention_mask=mask.long(), output_attentions=True)
        return list(found.attentions)


def load_pretrained(name: str) -> nn.Module:
    """An encoder by name: `minilm` (packaged), a folder or a hub id (NAME@REVISION); float32, plain attention."""
    needs("transformers", "hub")
    from transformers import AutoConfig, AutoModel

    plain = {"attn_implementation": "eager"}  # as fast on a CPU at these lengths, and it can return its weights
    if (values := _given.get()) is not None:
        return AutoModel.from_config(AutoConfig.for_model(**values), **plain).float()
    name = str(packaged.minilm()) if name == "minilm" else name
    refuse_pickles(name)
    place, revision = pinned(name)
    options = {**plain, **revision, "use_safetensors": True, "trust_remote_code": False}
    with reading("pretrained encoder", name):
        network, loaded = AutoModel.from_pretrained(place, output_loading_info=True, **options)
    # The library only warns of weights it did not find, and starts them at random.
    if absent := sorted(key for key in loaded["missing_keys"] if "pooler" not in key and "position_ids" not in key):
        raise ConfigError(
            f"The weights of {name!r} do not fit its config.json: {len(absent)} are missing, {absent[0]!r} among "
            "them. Save the model again, or give the config it was saved with."
        )
    return network.float()
