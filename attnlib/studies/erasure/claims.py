"""The effects behind the rules of `claims.yaml`, what the paper prints of them, and the checks.

Where the paper speaks of its models in general, an effect is the mean over models (data set and encoder) that
count alike; where it says "every model", there is an effect for each. Where it counts models, each of which it
trained once, trainings are counted (`counted`). Rankings of one model are compared in pairs, text by text;
different encoders are trainings of their own that read the same texts. Trainings that learned nothing decide
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from attnlib.stats.inference import LEVEL, Effect, contrast, effect, exact_share
from attnlib.studies.beside import closest, printed, reference
from attnlib.studies.datasets import short
from attnlib.studies.erasure.grid import MODEL, Results, common_set, compared, several
from attnlib.studies.erasure.measures import RANKINGS, TOPS
from attnlib.studies.erasure.params import Params
from attnlib.studies.erasure.tables import GAIN, NAMES, SHARE, beyond_half, duel, model_name, outcomes
from attnlib.studies.learned import NOTHING, without
from attnlib.studies.ledger import FEWEST_TEXTS, Direction, NotTested, Printed, required
from attnlib.studies.rules import read_rules
from attnlib.utils.text import percent

WITH_ENCODER = ("han_rnn", "han_conv", "flan_rnn", "flan_conv")
NOENC = ("han_noenc", "flan_noenc")
SHIFT = 0.25
"""Appendix A.3: attention mass is "shifted down by around 0.25 or more" (claims 17 and 18)."""
EMPTIED = 0.5
"""The largest share of texts that may flip only when nothing is left where the attention mass removed is compared.
Once everything is removed so is all attention, whatever the ranking: beyond one half, a model shows that and little
else (claims 17 and 18)."""
ALONE = "No text has more than one item, so there is nothing to compare."
UNSHARED = "No decision is flipped by all four rankings, so there is nothing to compare."

Cases = dict[str, Effect]


def matters_more(results: Results) -> Effect:
    """Share of texts in which the most attended item has the larger effect (ΔJS > 0)."""
    kept = _single(results)
    return _mean(kept.assign(value=(kept["delta_js"] > 0).astype(float)))


def nearly_tied(results: Results) -> Effect:
    """Of the texts in which the random item has the larger effect, the share with a Δα below the model's median."""
    kept = _single(results)
    middle = kept.groupby([*MODEL, "seed"])["delta_alpha"].transform("median")
    below = kept.assign(value=(kept["delta_alpha"] < middle).astype(float))[kept["delta_js"] < 0]
    return _mean(required(below, "No text has ΔJS < 0: the most attended item mattered more in every one."))


def flips_alone(results: Results) -> Effect:
    """Of the texts that exactly one of the two removals flips, the share that the most attended item flips."""
    kept = _single(results)
    once = kept[kept["flip_top"].astype(bool) != kept["flip_other"].astype(bool)]
    once = required(once, "No decision is flipped by exactly one of the two items.")
    return _mean(once.assign(value=once["flip_top"].astype(float)))


def stays(results: Results) -> Effect:
    """Share of decisions that stay without their most attended item."""
    kept = _single(results)
    return _mean(kept.assign(value=1.0 - kept["flip_top"].astype(float)))


def first_items(results: Results, ranking: str, share: bool = False) -> Effect | Cases:
    """Whether the ranking's first item flips a decision minus whether attention's does, in each model.

    share  of the trainings in which it flips fewer decisions instead
    """
    kept = _single(results, "alpha", ranking)
    values = _minus_attention(kept.assign(value=kept["flip_top"].astype(float)), ranking)
    return counted(values, "less") if share else each(values, GAIN)


def without_encoder(results: Results) -> Cases:
    """Share of texts that at least one removal flips, without an encoder minus with one.

    A case for HAN and for FLAN on each data set, against rnn and against conv, where the run has all three; the
    paper excepts the FLANs on Yahoo.
    """
    kept = _single(results)
    kept = kept[(kept["dataset"] != "yahoo") | ~kept["encoder"].str.startswith("flan")]
    either = kept["flip_top"].astype(bool) | kept["flip_other"].astype(bool)
    names = [encoder.split("_") for encoder in kept["encoder"]]
    kept = kept.assign(
        value=either.astype(float), architecture=[a for a, _ in names], context=[c for _, c in names]
    )
    found = {}
    for (dataset, architecture), part in kept.groupby(["dataset", "architecture"], sort=False):
        for other in ("rnn", "conv") if part["context"].nunique() == 3 else ():
            name = f"{architecture.upper()} on {short(dataset)}, against {other}"
            found[name] = contrast(part, "context", "noenc", other, paired=False, bounds=GAIN)
    if not found:
        raise NotTested("No data set of this run has models with an rnn, with convolutions and without an encoder.")
    return _readable(found)


def fewer_items(results: Results, a: str, b: str, encoders: Sequence[str] = WITH_ENCODER + NOENC) -> Effect:
    """Share of items removed at the first flip by ranking a minus that by b, where all rankings flip the text."""
    same = required(common_set(_fractions(results, encoders)), UNSHARED)
    return contrast(_firm(same), "importance", a, b, MODEL, bounds=GAIN)


def gradient_faster(results: Results, share: bool = False) -> Effect | Cases:
    """Of the texts where gradient or attention flips with fewer items, the share of the gradient's, in each model.

    share  of the trainings in which it is faster on more than half of the texts instead, of all texts that at least
           one of the two flips. Models with encoders
    """
    both = duel(_fractions(results, WITH_ENCODER))
    both = both if share else both[both["faster"] + both["slower"] > 0]
    both = required(both, "Neither ranking flips a text." if share else "Neither ranking is faster on any text.")
    values = both.assign(value=both["faster"])
    return counted(values, "greater", 0.5) if share else each(values, SHARE)


def late_flips(results: Results) -> Effect:
    """Share of FLANrnn's first flips by attention that need more than half of the words."""
    kept = _by_attention(results, "flan_rnn")
    return _mean(kept.assign(value=beyond_half(kept["value"])))


def more_context(results: Results, more: str, less: str) -> Effect:
    """Share of words removed by attention with more context minus that with less, where both models flip."""
    kept = pd.concat([_by_attention(results, more), _by_attention(results, less)])
    both = kept.groupby(["dataset", "instance"])["encoder"].transform("nunique") == 2
    kept = required(kept[both], "No text is flipped in both models.")
    return contrast(kept, "encoder", more, less, ["dataset"], paired=False, bounds=GAIN)


def forced(results: Results, ranking: str) -> dict[tuple[str, str], float]:
    """The models that `EMPTIED` leaves out of the comparison of attention mass, with the share of their texts.

    Of the texts that all rankings flip, those that this ranking or attention flips only when nothing is left.
    """
    same = common_set(results.learned.fractions)
    both = same[same["importance"].isin((ranking, "alpha"))]
    empty = both["status"].eq("only_when_empty").groupby([both[k] for k in (*MODEL, "seed", "instance")]).any()
    shares = empty.groupby(level=MODEL, sort=False).mean()
    return shares[shares > EMPTIED].to_dict()


def mass_shifted(results: Results, ranking: str) -> Effect:
    """The share of trainings whose attention mass removed at the first flip is lower by `SHIFT` or more.

    By the ranking minus by attention, on the texts that all rankings flip, in the models that `EMPTIED` does not
    leave out.
    """
    same = required(common_set(_fractions(results)), UNSHARED)
    left_out = forced(results, ranking)
    models = same[MODEL].drop_duplicates()
    out = models[[key in left_out for key in models.itertuples(index=False, name=None)]]
    kept = without(same, out)
    names = ", ".join(f"{model_name(e)} on {short(d)} ({percent(share)})" for (d, e), share in left_out.items())
    kept = required(kept, f"Every model flips more than half of its texts only when nothing is left: {names}.")
    kept = kept.assign(value=kept["mass_removed"].to_numpy(float))
    return counted(_minus_attention(kept, ranking), "less", -SHIFT)


def rarer_tails(results: Results) -> Cases:
    """Share of first flips beyond one half of the words, from one ranking to the next, in Amazon's FLANnoenc."""
    tail = several(_fractions(results))
    tail = tail[(tail["dataset"] == "amazon") & (tail["encoder"] == "flan_noenc")]
    tail = required(tail, "Amazon's FLANnoenc is not part of this run, or learned nothing.")
    tail = tail.assign(value=beyond_half(tail["value"]))
    return {step(a, b): contrast(tail, "importance", a, b, bounds=GAIN) for a, b in pairwise(RANKINGS)}


def step(a: str, b: str) -> str:
    """The name of a difference between two rankings."""
    return f"{NAMES[a]} minus {NAMES[b]}"


def counted(values: pd.DataFrame, direction: Direction, border: float = 0.0) -> Effect:
    """The share of trainings whose mean over texts lies beyond the border, with exact binomial bounds.

    A model of the paper is one training of an architecture on a data set, and so it is counted here. Trainings of
    different models hit with different probabilities; the number of hits then varies less than a binomial one of
    the same mean (Hoeffding 1956), so that the bounds hold for the mean over models. Trainings with too few texts
    for a verdict are left out.
    """
    sign = 1 if direction == "greater" else -1
    groups = values.groupby([*MODEL, "seed"])["value"]
    means = groups.mean()[groups.size() >= FEWEST_TEXTS]
    means = required(means, f"No training has the {FEWEST_TEXTS} texts that a verdict needs.")
    return _share(int((sign * means > sign * border).sum()), len(means))


def _share(hits: int, trainings: int, level: float = LEVEL) -> Effect:
    """The exact share, whose variance more trainings would lower."""
    found = exact_share(hits, trainings, level)
    variance = found.estimate * (1 - found.estimate) / trainings
    return replace(found, from_trainings=variance, from_texts=0.0, again=partial(_share, hits, trainings))


def each(values: pd.DataFrame, bounds: tuple[float, float]) -> Cases:
    """Model -> mean over its trainings and texts, of the models with texts enough for a verdict."""
    groups = values.groupby(MODEL, sort=False)
    found = {f"{model_name(e)} on {short(d)}": effect(part, bounds=bounds) for (d, e), part in groups}
    return _readable(found)


def _readable(cases: Cases) -> Cases:
    """The cases with texts enough for a verdict; all where none has, so that the ledger says how many there are."""
    return {name: found for name, found in cases.items() if found.texts >= FEWEST_TEXTS} or cases


def _firm(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the models of one text, which would leave a mean over models no interval; all where none has two."""
    kept = frame[frame["value"].notna()]
    enough = kept.groupby(MODEL, sort=False)["instance"].transform("nunique") >= 2
    return kept[enough] if enough.any() else kept


def _mean(frame: pd.DataFrame) -> Effect:
    return effect(_firm(frame), MODEL, bounds=SHARE)


def _minus_attention(frame: pd.DataFrame, ranking: str) -> pd.DataFrame:
    """`value` of a ranking minus that of attention, one row per text."""
    wide = frame.pivot_table(index=[*MODEL, "seed", "instance"], columns="importance", values="value", sort=False)
    return (wide[ranking] - wide["alpha"]).dropna().rename("value").reset_index()


def _single(results: Results, *rankings: str) -> pd.DataFrame:
    """Single removals by these rankings (attention), of the trainings that learned something."""
    kept = compared(_learned(results, "single"))
    return required(kept[kept["importance"].isin(rankings or ("alpha",))], ALONE)


def _fractions(results: Results, encoders: Sequence[str] = WITH_ENCODER + NOENC) -> pd.DataFrame:
    """First flips of these models, of the trainings that learned something."""
    kept = _learned(results, "fractions")
    absent = ", ".join(map(model_name, encoders))
    return required(kept[kept["encoder"].isin(encoders)], f"Not in this run, or learned nothing: {absent}.")


def _by_attention(results: Results, encoder: str) -> pd.DataFrame:
    """First flips by attention of a model."""
    kept = several(_fractions(results, [encoder]))
    kept = kept[(kept["importance"] == "alpha") & kept["value"].notna()]
    return required(kept, f"No decision of {model_name(encoder)} flips by attention.")


def _learned(results: Results, name: str) -> pd.DataFrame:
    kept = getattr(results.learned, name)
    return required(kept, NOTHING) if len(results.idle) else kept


def table2(results: Results, of: Sequence[str], among: Sequence[str] = ()) -> Printed:
    """What cells of the paper's Table 2 hold of all texts, or of other cells; mean over the run's data sets."""
    rows = reference("erasure", 2)
    names, where = closest("erasure", 2, results.single["dataset"].unique())
    kept = rows if names == [None] else rows[rows["dataset"].isin(names)]
    made = []
    for _, table in kept.groupby("dataset"):
        cells = table.set_index("metric")["value"] / 100
        made.append(sum(cells[name] for name in of) / (sum(cells[name] for name in among) if among else 1))
    return Printed(float(np.mean(made)), f"{where}, HANrnn")


def stated(results: Results, metric: str, total: str) -> Printed:
    """A number of models that the paper's text gives, as a share."""
    count, models = (printed("erasure", "text", metric=name) for name in (metric, total))
    return Printed(count / models, f"{count:g} of {models:g} models")


def figure6(results: Results) -> dict[str, Printed]:
    """How much rarer late flips are with the next ranking."""
    shares = {name: printed("erasure", "figure6", importance=name) / 100 for name in RANKINGS}
    return {step(a, b): Printed(shares[a] - shares[b], "Figure 6") for a, b in pairwise(RANKINGS)}


RULES = read_rules(__file__, globals())


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    single, fractions = results.single, results.fractions
    keys = [*MODEL, "seed", "importance", "instance"]
    models = {d: len(a) * len(params.encoders) * len(params.seeds) for d, a in params.trained.items()}
    texts = results.labels.groupby("dataset")["instance"].nunique()
    erased = fractions.groupby("dataset")["instance"].nunique()
    own = compared(single)
    cells = outcomes(single).groupby(keys)["value"].sum()
    once = single[single["sampling"] == "any other"].set_index(keys)["flip_top"].astype(bool)
    flips = fractions[fractions["importance"].isin(TOPS)].set_index(keys)["removed"]
    alpha = several(fractions)
    alpha = alpha[(alpha["importance"] == "alpha") & alpha["value"].notna()]
    gone = alpha.loc[alpha["value"] == 1, "mass_removed"].astype(float)
    return {
        "no run is missing": not len(results.grid.failures),
        "every model answered every test text": len(results.labels) == sum(texts[d] * n for d, n in models.items()),
        "every model met every ranking": fractions.groupby(keys[:-1]).ngroups
        == len(RANKINGS) * sum(models.values()),
        "no more texts were erased from than asked for": bool((erased <= (params.texts or np.inf)).all()),
        "r is never the top item": not bool((own["top"] == own["other"]).any()),
        "the top item by attention has the larger weight": bool(
            (own.loc[own["importance"] == "alpha", "delta_alpha"] >= 0).all()
        ),
        "each text is in one cell of its table": bool((cells == 100).all()),
        "both tests agree on the decisions that one item flips": bool(
            once.eq((flips == 1).fillna(False).astype(bool).reindex(once.index)).all()
        ),
        "removing all items removes all attention": bool(np.isclose(gone, 1.0, atol=1e-4).all()),
    }
