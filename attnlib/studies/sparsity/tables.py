"""Tables of the study of sparse attention: frames in, frames out, ours next to the paper's.

Every table has `value` with its 95% interval (`low`, `high`), and of how many measurements, trainings and texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attnlib.measures.agreement import STATUSES
from attnlib.stats.inference import COUNTS, ENDS, Effect, contrasts, effect, effects, interval_texts
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies.beside import beside, printed
from attnlib.studies.beside import named as spelled
from attnlib.studies.datasets import kin
from attnlib.studies.sparsity.grid import KEYS, Results
from attnlib.studies.sparsity.params import PAIR

CELL = ["dataset", "encoder"]
MODEL = ["dataset", "encoder", "projection"]
BESIDE = ["paper", "difference", "paper's corpus"]
SHARE, CHANGE, TAU, TAU_GAP = (0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (-2.0, 2.0)
"""Ranges of shares and normalised entropies, of their changes, of correlations and of differences between two."""
NAMES = {
    "gradient_input": "g(x)",
    "leave_one_out_input": "D(x)",
    "gradient_hidden": "g(I)",
    "leave_one_out_hidden": "D(I)",
    "adversary_frozen": "frozen",
    "adversary_unfrozen": "unfrozen",
    "lstm": "BiLSTM",
    "transformer": "Transformer",
}
"""Our names as the paper writes them: g gradient, D leave-one-out, of inputs x and hidden states I."""
named = partial(spelled, names=NAMES)
METRICS = {
    "support": "words with weight",
    "support_share": "share of words",
    "entropy_attention": "entropy of attention",
}
KINDS = {"gradient": "gradient", "leave_one_out": "leave-one-out"}
FOLLOWED = {
    "support": ("entropies", "metric", "support_share", "share of words with weight"),
    "hidden": ("hidden", "metric", "entropy_grad_fi_of_hidden", "entropy of the influence on hidden states"),
    "entropy_gradient": ("entropies", "metric", "entropy_gradient_input", "entropy of gradient importance"),
    "entropy_leave_one_out": (
        "entropies", "metric", "entropy_leave_one_out_input", "entropy of leave-one-out importance"
    ),
    "gradient": ("agreement", "importance", "gradient_input", "agreement with gradient importance"),
    "leave_one_out": ("agreement", "importance", "leave_one_out_input", "agreement with leave-one-out importance"),
}  # fmt: skip
"""What is followed from soft to sparse: name -> frame of the results, column and value of its rows, words."""
DUEL = ["dataset", "encoder", "projection", "variant", "push"]
"""The columns that tell adversaries apart."""
FAR = 0.35
"""Distance (JSD, nats) from which attention counts as moved: half of ln 2, the most there is. An adversary that
stays nearer shows nothing about the price of moving."""


def by_corpus(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Name of each corpus, a name for its files (letters, digits and hyphens), and its rows."""
    taken: set[str] = set()
    for name, part in frame.groupby("dataset", sort=False) if len(frame) else ():
        plain = file = re.sub(r"[^A-Za-z0-9]+", "-", str(name)).strip("-") or "corpus"
        while file in taken:
            file = f"{plain}-{len(taken)}"
        taken.add(file)
        yield str(name), file, part.reset_index(drop=True)


def pair(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the softmax and sparsemax models, those of the paper's Tables 1 and 6."""
    return frame[frame["projection"].isin(PAIR)]


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a column `model`: `softmax`, `entmax 1.5`, `sparsegen -10`, `sparsemax`."""
    places = frame[["projection", "lam", "alpha"]].drop_duplicates()
    options = {"sparsegen": places["lam"], "entmax": places["alpha"]}
    places["model"] = [
        f"{name} {options[name][k]:g}" if name in options else name for k, name in places["projection"].items()
    ]
    return frame.merge(places, on=["projection", "lam", "alpha"], how="left")


def states(hidden: pd.DataFrame, column: str = "value") -> pd.DataFrame:
    """Means over hidden states, as one number per text: what `effect` takes.

    A text has as many states as words, and the mean of a model is that over all states of all texts, a ratio of two
    sums over texts: `value` is the jackknife's pseudovalue of a text, `point` the mean of the training.
    """
    model = [c for c in (*KEYS, "metric", "seed") if c in hidden]
    texts = hidden.groupby([*model, "instance"], sort=False, dropna=False)[column]
    sums = texts.agg(total="sum", states="count").reset_index()

    def mean(part: pd.DataFrame) -> float:
        return part["total"].sum() / part["states"].sum()

    def without_each(part: pd.DataFrame) -> np.ndarray:
        rest = (part["states"].sum() - part["states"]).to_numpy(float)
        return (part["total"].sum() - part["total"]).to_numpy() / np.where(rest > 0, rest, np.nan)

    return pseudovalues(sums[sums["states"] > 0], mean, model, without_each=without_each)


def accuracy_table(labels: pd.DataFrame) -> pd.DataFrame:
    """Table 3, right: test accuracy of every model; the paper prints those with softmax."""
    summary = labelled(effects(labels, [*KEYS, "metric"], bounds=SHARE))
    soft = beside(summary[summary["projection"] == "softmax"], "sparsity", 3)
    table = pd.concat([soft, summary[summary["projection"] != "softmax"]], ignore_index=True)
    order = {name: k for k, name in enumerate(labelled(labels)["model"].unique())}
    table = table.sort_values(
        [*CELL, "model"], key=lambda c: c.map(order) if c.name == "model" else c, kind="stable"
    )
    return named(table)[[*CELL, "model", *ENDS, *BESIDE, *COUNTS]].reset_index(drop=True)


def hidden_table(hidden: pd.DataFrame) -> pd.DataFrame:
    """Table 1: entropy of inputs' influence on a hidden state, mean and sd over texts and positions."""
    part = pair(hidden)
    by = [*MODEL, "metric"]
    table = beside(effects(states(part), by, bounds=SHARE), "sparsity", 1, sd=True)
    spread = part.groupby(by, sort=False)["value"].agg(sd="std", states="count", missing=lambda v: v.isna().sum())
    table = table.merge(spread.reset_index(), on=by)
    return named(table)[[*MODEL, *ENDS, "sd", "paper", "paper: sd", *BESIDE[1:], "states", "missing", *COUNTS[1:]]]


def own_table(hidden: pd.DataFrame) -> pd.DataFrame:
    """How much of the influence on a hidden state its own word has, next to an even share of it."""
    part = pair(hidden)
    table = effects(states(part, "own"), MODEL, bounds=SHARE)
    more = part.groupby(MODEL, sort=False).agg(**{"even share": ("even", "mean"), "states": ("own", "count")})
    return named(table.merge(more.reset_index(), on=MODEL))[[*MODEL, *ENDS, "even share", "states", *COUNTS[1:]]]


def agreement_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """Table 6: mean Kendall tau-b of attention with the four importances; sd over texts and trainings."""
    part = pair(agreement)
    by = [*MODEL, "importance", "metric"]
    table = beside(effects(part, by, bounds=TAU), "sparsity", 6, sd=True)
    deviation = part.groupby(by, sort=False)["value"].std().rename("sd").reset_index()
    columns = [*MODEL, "importance", *ENDS, "sd", "paper", "paper: sd", *BESIDE[1:], *COUNTS]
    return named(table.merge(deviation, on=by))[columns].rename(columns={"importance": "with"})


def gap_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """Agreement with the importance of hidden states minus that with inputs, paired by text; Table 6 likewise."""
    found = []
    for kind, words in KINDS.items():
        table = contrasts(pair(agreement), "importance", f"{kind}_hidden", f"{kind}_input", MODEL, bounds=TAU_GAP)
        paper = [printed_gap(kind, **row) for row in table[MODEL].to_dict("records")]
        found.append(table.assign(importance=words, paper=paper))
    table = pd.concat(found, ignore_index=True).rename(columns={"a": "hidden states", "b": "inputs"})
    return named(table)[[*MODEL, "importance", "hidden states", "inputs", *ENDS, "paper", "p_holm", *COUNTS]]


def change_table(results: Results, *names: str) -> pd.DataFrame:
    """What sparsemax changes against softmax (keys of FOLLOWED), paired by text and seed; next to Table 6."""
    found = []
    for name in names:
        bounds = TAU_GAP if name in KINDS else CHANGE
        table = contrasts(followed(results, name), "projection", "sparsemax", "softmax", CELL, bounds=bounds)
        paper = [printed_change(name, **row) if name in KINDS else np.nan for row in table[CELL].to_dict("records")]
        found.append(table.assign(of=FOLLOWED[name][3], paper=paper))
    table = pd.concat(found, ignore_index=True).rename(columns={"a": "sparsemax", "b": "softmax"})
    return named(table)[[*CELL, "of", "sparsemax", "softmax", *ENDS, "paper", *COUNTS]]


def printed_gap(kind: str, **where: str) -> float:
    """Table 6: agreement with hidden states minus that with inputs; NaN where the paper prints none."""
    return np.subtract(*(printed("sparsity", 6, importance=f"{kind}_{k}", **where) for k in ("hidden", "input")))


def printed_change(kind: str, **where: str) -> float:
    """Table 6: agreement with inputs of sparsemax minus that of softmax; NaN where the paper prints none."""
    where |= {"importance": f"{kind}_input"}
    return np.subtract(*(printed("sparsity", 6, projection=name, **where) for name in reversed(PAIR)))


def status_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """How many measurements have no order to compare and why; how many pairs of words are tied in attention."""
    frame = labelled(agreement)
    by = [*CELL, "model"]
    counts = pd.concat(
        {s: (frame["status"] == s).groupby([frame[c] for c in by], sort=False).sum() for s in STATUSES}, axis=1
    )
    tied = frame.groupby(by, sort=False)["tied"].mean().rename("share of tied pairs")
    return named(counts.join(tied).reset_index())


def path_table(entropies: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Mean with interval of every metric for every projection: one row per model, one column per metric."""
    by = [*CELL, "model"]
    columns = {}
    for metric in metrics:
        part = labelled(entropies[entropies["metric"] == metric])
        bounds = (0.0, float(part["length"].max())) if metric == "support" else SHARE
        summary = effects(part, by, bounds=bounds).set_index(by)
        columns[METRICS[metric]] = interval_texts(summary)
    return named(summary[COUNTS].reset_index().assign(**columns))[[*by, *columns, *COUNTS]]


def on_path(frame: pd.DataFrame, x: str = "lam") -> pd.DataFrame:
    """Rows of the models on a path, of the seeds that trained all of it.

    Softmax and sparsemax may have further seeds; a path is compared within a seed. Where no seed has it all, every
    row stays: there is no trend then, and the table says where it breaks off.
    """
    path = frame[frame[x].notna()]
    places = path.groupby(CELL)[x].transform("nunique")
    whole = path.groupby([*CELL, "seed"])[x].transform("nunique") == places
    none = ~whole.groupby([path[c] for c in CELL]).transform("any")
    return path[whole | none]


def ordered(values: np.ndarray) -> np.ndarray:
    """Tau-b of the last axis with its places, strictly ascending; NaN where one is missing or all are equal."""
    first, second = np.triu_indices(values.shape[-1], 1)
    sign = np.sign(values[..., second] - values[..., first])
    untied = (sign != 0).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = sign.sum(-1) / np.sqrt(len(first) * untied)
    return np.where(np.isnan(values).any(-1) | (untied == 0), np.nan, tau)


def trend(part: pd.DataFrame, x: str = "lam") -> Effect:
    """Kendall tau-b between `x` and the mean `value` of a seed's models, averaged over seeds; rows of one cell.

    The places on the path are chosen, not drawn; what chance decides is each model of it. A seed trains the whole
    path once, so seeds are the independent repetitions, and the interval is over them. Texts are the same for all
    models and enter through the means (of hidden states: means within each text first). Models that are all alike
    have no order, and a tau of 0; without a value at some place there is no trend.
    """
    means = path_means(part, x)
    if means.isna().any(axis=None):
        return Effect(np.nan)
    values = pd.DataFrame({"seed": means.index, "value": np.nan_to_num(ordered(means.to_numpy(float)))})
    found = effect(values, text=None, bounds=TAU)
    return replace(found, n=means.size, texts=part["instance"].nunique())


def path_means(part: pd.DataFrame, x: str = "lam") -> pd.DataFrame:
    """Mean `value` of every model on a path: seeds in rows, places in columns, softest first."""
    texts = part.groupby(["seed", x, "instance"])["value"].mean().reset_index()
    return texts.pivot_table(index="seed", columns=x, values="value", dropna=False)


def trends(results: Results, name: str) -> dict[tuple[str, str], Effect]:
    """The trend of that name (a key of FOLLOWED) along lambda by corpus and encoder, over models that learned."""
    return {key: trend(part) for key, part in on_path(followed(results.learned, name)).groupby(CELL, sort=False)}


def trend_table(results: Results, *names: str) -> pd.DataFrame:
    """Trends along lambda, a larger lambda being sparser; that of entropy next to Table 2.

    `largest at λ` tells a rise and fall from a steady trend; `within texts` is the correlation inside each text,
    averaged over texts: trends of single texts, which a mean can hide. `models` counts the trainings.
    """
    rows = []
    for name in names:
        path = on_path(followed(results.learned, name))
        for key, found in trends(results, name).items():
            part = path[(path[CELL] == list(key)).all(axis=1)]
            each = part.pivot_table(index=["seed", "instance"], columns="lam", values="value", dropna=False)
            within = ordered(each.to_numpy(float))
            row = {"λ and": FOLLOWED[name][3], **dict(zip(CELL, key, strict=True)), **found.row()}
            row["largest at λ"] = path_means(part).mean().idxmax() if len(part) else np.nan
            row["within texts"] = np.nanmean(within) if np.isfinite(within).any() else np.nan
            row["paper"] = (
                printed("sparsity", 2, dataset=key[0], encoder=key[1]) if name == "entropy_gradient" else np.nan
            )
            row["paper's corpus"] = "–" if np.isnan(row["paper"]) else kin(key[0])
            rows.append(row | {"note": _broken(part)})
    columns = ["paper", "paper's corpus", "p", "largest at λ", "within texts", "n", "trainings", "texts", "note"]
    table = pd.DataFrame(rows, columns=["λ and", *CELL, *ENDS, *columns])
    return named(table).rename(columns={"n": "models", "trainings": "seeds"})


def followed(results: Results, name: str) -> pd.DataFrame:
    """The rows of that name (a key of FOLLOWED)."""
    frame, column, value, _ = FOLLOWED[name]
    rows = getattr(results, frame)
    return rows[rows[column] == value]


def _broken(part: pd.DataFrame) -> str:
    """Where a seed's model has no value, and so the path no trend, and the reason, if the texts know it."""
    means = part.pivot_table(index="lam", columns="seed", values="value", dropna=False)
    places = means.index[means.isna().any(axis=1)]
    if not len(places):
        return ""
    lost = part[part["lam"].isin(places) & part["value"].isna()]
    reasons = sorted(set(lost["status"])) if "status" in lost else []
    why = f" ({', '.join(reasons)})" if reasons else ""
    return f"no value at λ = {', '.join(f'{place:g}' for place in places)}{why}"


def adversary_table(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Table 5: distance of an adversary's attention from its base's (JSD in nats), its accuracy, and the change.

    Each next to the paper's, whose adversaries attack softmax models.
    """
    table = changes(adversaries)
    attacked = (table["projection"] == "softmax") & (table["push"] > 0)
    for column, metric in {"jsd": "jsd_attention", "adversary": "accuracy", "change": "delta_accuracy"}.items():
        rows = table[["dataset", "encoder", "variant"]].to_dict("records")
        found = pd.Series([printed("sparsity", 5, metric=metric, **row) for row in rows], table.index)
        table[f"paper: {column}"] = found.where(attacked)
    table["push"] = table["push"].map(push_label)
    columns = ["jsd", "paper: jsd", "base", "adversary", "paper: adversary", *ENDS, "paper: change", *COUNTS]
    return named(table)[[*DUEL, *columns]].rename(columns={"push": "λ"})


def push_label(push: float) -> str:
    """A push as it was given, 0.0005 and not 5.0e-04; `control` where there is none."""
    return f"{push:g}" if push else "control"


def changes(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Change of accuracy of every adversary, and `jsd`, how far its attention is from its base's on average."""
    table = effects(adversaries.assign(value=adversaries["change"]), DUEL, bounds=CHANGE)
    means = {"jsd": "jsd", "base": "right_base", "adversary": "right_adversary"}
    more = adversaries.groupby(DUEL, sort=False).agg(**{k: (v, "mean") for k, v in means.items()})
    return table.merge(more.reset_index(), on=DUEL)


def least_push(adversaries: pd.DataFrame) -> pd.DataFrame:
    """One row per base and kind of adversary: the weakest push that moves attention FAR on average, and its cost.

    A push beyond that only buys accuracy for distance that nobody asked for; where no push reaches FAR, the row is
    that of the farthest. The control (push 0) is never chosen: `control`, `control_low` and `control_high` are its
    change of accuracy, `control_jsd` its distance, NaN without one. `silent` says why a row can decide nothing:
    attention stayed too near, or the control loses accuracy too, and the loss is then not that of other attention.
    """
    table = changes(adversaries)
    taken = {"value": "control", **{c: f"control_{c}" for c in ("low", "high", "jsd")}}
    controls = table.loc[table["push"] == 0, [*DUEL[:-1], *taken]].rename(columns=taken)
    pushed = table[table["push"] > 0].merge(controls, on=DUEL[:-1], how="left")
    rows = []
    for _, own in pushed.groupby(DUEL[:-1], sort=False):
        far = own[own["jsd"] > FAR]
        rows.append(far["push"].idxmin() if len(far) else own["jsd"].fillna(-1.0).idxmax())
    chosen = pushed.loc[rows].reset_index(drop=True)
    near, lossy = ~(chosen["jsd"] > FAR), chosen["control_high"] < 0
    return chosen.assign(silent=np.where(near, "too near", np.where(lossy, "the control loses accuracy too", "")))


def judged_table(adversaries: pd.DataFrame) -> pd.DataFrame:
    """The adversaries that the claims look at, with their controls: `least_push` for readers."""
    if adversaries.empty:
        return adversaries
    table = least_push(adversaries).rename(columns={"push": "λ", "silent": "decides nothing"})
    columns = ["λ", "jsd", "base", "adversary", *ENDS, "control", "control_low", "control_high", "control_jsd"]
    return named(table)[[*DUEL[:-1], *columns, "decides nothing", *COUNTS]]


def both_ways(facets: pd.DataFrame) -> pd.DataFrame:
    """The two ways of Appendix A against each other: `apart`, their total variation, and `gap`, of entropies.

    Neither where a text has one word or no input moves the state: there is nothing to spread, and they agree for
    nothing.
    """
    gap = facets["of_norm"] - facets["of_facets"]
    return facets.assign(apart=facets["distance"].where(gap.notna()), gap=gap)


def facets_table(facets: pd.DataFrame) -> pd.DataFrame:
    """Appendix A: how far apart the two distributions over inputs are, both entropies and their difference."""
    facets = both_ways(facets)
    table = effects(states(facets, "apart"), CELL, bounds=SHARE)
    gap = effects(states(facets, "gap"), CELL, bounds=CHANGE)
    table["difference of entropies"] = interval_texts(gap, 3)
    means = {"entropy, norm": ("of_norm", "mean"), "entropy, components": ("of_facets", "mean")}
    sizes = {"mean ‖h‖": ("norm", "mean"), "sd of ‖h‖": ("norm", "std"), "τ over inputs": ("tau", "mean")}
    spread = facets.dropna(subset="gap").groupby(CELL, sort=False).agg(**means, states=("gap", "count"))
    table = table.merge(spread, on=CELL)
    table = table.merge(facets.groupby(CELL, sort=False).agg(**sizes), on=CELL)
    return named(table)[[*CELL, *ENDS, *means, "difference of entropies", *reversed(sizes), "states", *COUNTS[1:]]]
