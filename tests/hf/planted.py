"""A tiny BERT that learns to answer by one word among others, so that what decides is known."""

from __future__ import annotations

import numpy as np
import torch

from .conftest import save

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", *(f"w{i}" for i in range(30))]


def planted_text(rng: np.random.Generator) -> tuple[str, int]:
    """Six to ten words, "good" or "bad" among them, and the label that it decides."""
    label = int(rng.integers(2))
    words = [f"w{i}" for i in rng.integers(0, 30, int(rng.integers(5, 10)))]
    words.insert(int(rng.integers(0, len(words))), ("bad", "good")[label])
    return " ".join(words), label


def untrained(seed: int = 0, *, decoder: bool = False):
    """A network and its tokeniser: BERT, or GPT-2 of the same size."""
    import transformers as hf
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if not decoder:
        t.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=t, **names)
    torch.manual_seed(seed)
    labels = {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}, "vocab_size": len(WORDS)}
    if decoder:
        sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32, "pad_token_id": 0}
        return hf.GPT2ForSequenceClassification(hf.GPT2Config(**sizes, **labels)), tokenizer
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    return hf.BertForSequenceClassification(hf.BertConfig(**sizes, max_position_embeddings=32, **labels)), tokenizer


def planted_bert(folder, *, steps: int = 150, seed: int = 0, decoder: bool = False):
    """The folder of a checkpoint that was taught for some steps."""
    network, tokenizer = untrained(seed, decoder=decoder)
    optimiser = torch.optim.Adam(network.train().parameters(), 3e-3)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        texts, labels = zip(*(planted_text(rng) for _ in range(32)), strict=True)
        batch = tokenizer(list(texts), return_tensors="pt", padding=True, return_token_type_ids=False)
        optimiser.zero_grad()
        network(**batch, labels=torch.tensor(labels)).loss.backward()
        optimiser.step()
    return save(network, tokenizer, folder)


def planted_table(folder, n: int = 130, seed: int = 1):
    """A csv of such texts."""
    rng = np.random.default_rng(seed)
    rows = [planted_text(rng) for _ in range(n)]
    file = folder / "t.csv"
    file.write_text("text,label\n" + "\n".join(f"{t},{('no', 'yes')[y]}" for t, y in rows), encoding="utf-8")
    return file
