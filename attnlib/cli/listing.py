"""What `attnlib list` prints: for each kind, rows of a name and its description."""

from __future__ import annotations

from collections.abc import Callable

Rows = list[tuple[str, str]]

PARTS = {
    "encoders": {
        "none": "the word vectors themselves",
        "mlp": "one layer on each word alone, no context",
        "cnn": "convolutions of several widths",
        "lstm": "recurrent, two directions",
        "gru": "recurrent, two directions, fewer gates",
        "transformer": "self-attention layers trained from scratch",
        "bert": "a pretrained transformer (MiniLM, or your own)",
    },
    "attentions": {
        "additive": "v tanh(W h_i), Bahdanau et al. 2015",
        "dot": "q h_i, scaled by the width by default",
        "deep": "additive with several hidden layers",
    },
    "projections": {
        "softmax": "every word gets some weight",
        "sparsemax": "nearest point of the simplex: exact zeros, Martins & Astudillo 2016",
        "sparsegen": "sparsemax with a strength lambda, Laha et al. 2018",
        "entmax": "between softmax (alpha 1) and sparsemax (alpha 2), Peters et al. 2019",
        "gumbel": "softmax with Gumbel noise and a temperature",
    },
    "scalings": {
        "none": "attention as it is",
        "lin": "TaSc: one number per word type, Chrysostomou & Aletras 2021",
        "feat": "TaSc: one number per dimension of the embedding",
        "conv": "TaSc: a convolution over the scaled embeddings",
    },
    "regularisers": {
        "none": "the classification loss alone",
        "concat": "the decoder also sees the embedding, Tutek & Šnajder 2020",
        "residual": "embeddings are added to the hidden states",
        "tying": "hidden states are held near their embeddings",
        "mlm": "hidden states must also guess masked words",
    },
}
"""Names as in `attnlib.config`, each with a short description; a test keeps the two in step."""


def corpora() -> Rows:
    """Every registered corpus with its source and what to cite."""
    from attnlib.data import corpora

    return [(n, f"{c.summary}\nsource: {c.source}\ncite: {c.citation}") for n, c in sorted(corpora.items())]


def importances() -> Rows:
    """Every ranking of words, and the models it applies to."""
    from attnlib.importance.scores import METHODS

    return [(name, f"{method.summary}\nfor {method.models}") for name, method in METHODS.items()]


def notebooks() -> Rows:
    """Every notebook with its title, profiles and parameters."""
    from attnlib.reports.plan import names, profiles, read

    rows = []
    for name in names():
        notebook = read(name)
        lines = [f"{notebook.title}  [{', '.join(profiles(name))}]"]
        for p in notebook.parameters.values():
            comment = f"  # {p.comment}" if p.comment else ""
            lines.append(f"  {p.name}: {p.annotation} = {p.default!r}{comment}")
        rows.append((name, "\n".join(lines)))
    return rows


def params(name: str) -> Rows:
    """Every parameter of a notebook: type, default, comment, and what each profile sets instead."""
    from attnlib.reports.plan import plans, profiles, read

    notebook = read(name)
    planned = {profile: plans([name], profile, [])[0] for profile in profiles(notebook.name)}
    rows = []
    for p in notebook.parameters.values():
        told = [f"{profile}: {one.changed[p.name]!r}" for profile, one in planned.items() if p.name in one.changed]
        lines = [f"{p.annotation} = {p.default!r}", *([p.comment] if p.comment else []), *told]
        rows.append((p.name, "\n".join(lines)))
    return rows


def profiles() -> Rows:
    """Every size of a run, and the notebooks that have it."""
    from attnlib.reports.plan import PROFILES, names, profiles

    having = {name: list(profiles(name)) for name in names()}
    known = dict(PROFILES)
    known.update({p: "" for found in having.values() for p in found if p not in known})
    rows = []
    for profile, text in known.items():
        owners = ", ".join(name for name, found in having.items() if profile in found)
        rows.append((profile, "\n".join(part for part in (text, f"notebooks: {owners or 'none'}") if part)))
    return rows


def _parts(kind: str) -> Callable[[], Rows]:
    return lambda: list(PARTS[kind].items())


LISTS: dict[str, Callable[[], Rows]] = {
    "corpora": corpora,
    **{kind: _parts(kind) for kind in PARTS},
    "importances": importances,
    "notebooks": notebooks,
    "profiles": profiles,
}
