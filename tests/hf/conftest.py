"""Tiny Hugging Face classifiers with random weights, with tokenisers of a few pieces."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

TEXTS = [
    "A gorgeous, witty and seductive movie!",
    "the film is unbearably dull; nobody cares",
    "It's well-made, but (in the end) a 3.5 out of 10.",
    "good",
    "an unforgettable masterpiece of storytelling, told with warmth and wit by a director in full command",
]
PLAIN = ["input_ids", "attention_mask"]


def wordpiece():
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = "the film is a movie told with warmth by director full command of end out dull good gor ##geous".split()
    pieces = [*special, *letters, *(f"##{c}" for c in letters), *".,;:!?()'-", *(w for w in words if len(w) > 1)]
    t = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", t.token_to_id("[CLS]")), ("[SEP]", t.token_to_id("[SEP]"))],
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=t, model_input_names=inputs, **names)


def byte_level(*, decoder: bool):
    """BPE on bytes: of RoBERTa with <s> … </s>, of GPT-2 without any special token around a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<|end|>"] if decoder else ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    t.train_from_iterator(TEXTS, trainer)
    if decoder:
        t.post_processor = processors.ByteLevel(trim_offsets=False)
        return PreTrainedTokenizerFast(
            tokenizer_object=t, eos_token="<|end|>", bos_token="<|end|>", model_input_names=PLAIN
        )
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True)
    names = {"bos_token": "<s>", "eos_token": "</s>", **{f"{n}_token": f"<{n}>" for n in ("pad", "unk", "mask")}}
    return PreTrainedTokenizerFast(tokenizer_object=t, model_input_names=PLAIN, **names)


def metaspace():
    """Pieces of Llama: blanks are part of the pieces; <s> in front."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    t.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>", "<s>", "</s>"]))
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=t, model_input_names=PLAIN, **names)


def build(kind: str, folder, **config):
    """Save a tiny classifier with random, lively weights and its tokeniser; returns the folder."""
    import transformers as hf

    torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 32}
    if kind == "bert":
        tokenizer = wordpiece()
        values = small | {"vocab_size": len(tokenizer), "max_position_embeddings": 64} | config
        network = hf.BertForSequenceClassification(hf.BertConfig(**values))
    elif kind == "roberta":
        tokenizer = byte_level(decoder=False)
        values = small | {"vocab_size": len(tokenizer), "max_position_embeddings": 66, "pad_token_id": 1} | config
        network = hf.RobertaForSequenceClassification(hf.RobertaConfig(**values))
    elif kind == "gpt2":
        tokenizer = byte_level(decoder=True)
        values = {"n_embd": 16, "n_layer": 3, "n_head": 4, "n_positions": 64, "vocab_size": len(tokenizer)}
        values |= {"bos_token_id": 0, "eos_token_id": 0} | config
        network = hf.GPT2ForSequenceClassification(hf.GPT2Config(**values))
    else:
        tokenizer = metaspace()
        values = small | {"vocab_size": len(tokenizer), "num_key_value_heads": 2, "max_position_embeddings": 64}
        values |= {"pad_token_id": None, "bos_token_id": 1, "eos_token_id": 2} | config
        network = hf.LlamaForSequenceClassification(hf.LlamaConfig(**values))
    with torch.no_grad():
        for _name, p in network.named_parameters():
            if p.dim() > 1:
                p.mul_(12)  # so that attention differs from uniform, and words decide
    return save(network, tokenizer, folder)


def save(network, tokenizer, folder):
    from transformers.utils import logging

    logging.disable_progress_bar()
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


KINDS = ("bert", "roberta", "gpt2", "llama")


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    made = {}

    def folder(kind: str):
        if kind not in made:
            made[kind] = build(kind, tmp_path_factory.mktemp(kind))
        return made[kind]

    return folder


@pytest.fixture(params=KINDS)
def model(request, folders):
    import attnlib as al

    return al.load_model(folders(request.param), device="cpu")


@pytest.fixture(scope="session")
def planted_fitted():
    import attnlib as al

    corpus = al.load_corpus("planted").sample(100)
    return al.fit(corpus, al.ModelConfig(encoder="mlp"), al.TrainConfig(epochs=1), seed=0), list(corpus.test[:4])
