"""Tables, figures, sentences and claims of the TaSc study on hand-made frames: exact values, each verdict."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest

from attnlib.studies.ledger import Claim
from attnlib.studies.tasc import (
    claims as tasc_claims,
)
from attnlib.studies.tasc import (
    figures as tasc_figures,
)
from attnlib.studies.tasc import (
    grid as tasc,
)
from attnlib.studies.tasc import (
    tables as tasc_tables,
)
from attnlib.studies.tasc import (
    words as tasc_words,
)
from attnlib.studies.tasc.grid import BASELINES, FRACTION, RANKINGS, TOP1
from attnlib.utils import paths

TEXTS = [f"t{i}" for i in range(40)]
SAID = tasc_claims.sayer("hand-made")


def frame(
    level, *, encoders=("lstm", "mlp"), seeds=(0, 1), variants=("none", "lin"), dataset="sst", texts=TEXTS
) -> pd.DataFrame:
    """Flips whose fraction is `level(encoder, attention, variant, importance)` plus a ripple over the texts."""
    rows = []
    for e, a, v, r in itertools.product(encoders, ("additive", "dot"), variants, (*RANKINGS, *BASELINES)):
        for s, (i, text) in itertools.product(seeds, enumerate(texts)):
            value = level(e, a, v, r) + 0.02 * (2 * (i % 2) - 1)
            base = {"dataset": dataset, "encoder": e, "attention": a, "variant": v, "importance": r, "seed": s}
            base |= {"instance": text, "length": 20, "status": "flipped"}
            rows += [
                base | {"metric": FRACTION, "value": value},
                base | {"metric": TOP1, "value": 100.0 * (value < 0.3)},
            ]
    return pd.DataFrame(rows)


def paper_like(encoder, attention, variant, importance):
    """A world in which every claim of the paper holds."""
    start = {"lstm": 0.5, "mlp": 0.4, "bert": 0.7}[encoder]
    if variant == "none":
        return start + {"alpha": 0.1, "grad_alpha": 0.05, "alpha_grad": 0.0}.get(importance, 0.02)
    gain = {"alpha": 0.35, "grad_alpha": 0.32, "alpha_grad": 0.25}.get(importance, 0.38)
    return gain + (0.06 if attention == "additive" and importance == "alpha_grad" else 0.0)


def upside_down(encoder, attention, variant, importance):
    """A world in which TaSc makes everything worse."""
    return (0.4 if variant == "none" else 0.8) - (0.1 if importance == "alpha" else 0.0)


def labels(lin: float, *, encoders=("lstm", "mlp"), seeds=(0, 1)) -> pd.DataFrame:
    """Predictions right on every text without TaSc and on the share `lin` with it."""
    rows = []
    for e, a, v, s in itertools.product(encoders, ("additive", "dot"), ("none", "lin"), seeds):
        for i, text in enumerate(TEXTS):
            truth = "yes" if i % 2 else "no"
            right = v == "none" or i < lin * len(TEXTS)
            said = truth if right else {"yes": "no", "no": "yes"}[truth]
            cell = {"dataset": "sst", "encoder": e, "attention": a, "variant": v, "seed": s}
            rows.append(cell | {"instance": text, "truth": truth, "prediction": said})
    return pd.DataFrame(rows)


def ledger(flips, lin=1.0, told=None, **options) -> dict[str, Claim]:
    found = SimpleNamespace(flips=flips, labels=labels(lin) if told is None else told)
    return {c.id: c for c in tasc_claims.claims(found, "hand-made", **options)}


def test_claims_hold_in_a_world_as_the_paper_describes_it():
    claims = ledger(frame(paper_like, encoders=("lstm", "mlp", "bert"), seeds=(0, 1, 2)))
    assert list(claims) == [f"tasc-{k}" for k in range(1, 14)]
    found = {name: claim.verdict for name, claim in claims.items()}
    spread = found.pop("tasc-13")  # the ripple is the same with and without
    assert found == {f"tasc-{k}": "reproduced" for k in range(1, 13)}
    assert spread == "undetermined"


def test_claims_fail_where_tasc_harms():
    found = ledger(frame(upside_down), lin=0.7)
    for k in (1, 2, 3, 4, 8, 9, 10):  # 8: alpha is the best ranking here
        assert found[f"tasc-{k}"].verdict == "not reproduced", k


def test_the_best_ranking_must_be_so_with_every_variant():
    def worse_with_lin(encoder, attention, variant, importance):
        best = "grad_alpha" if variant == "lin" else "alpha_grad"
        return (0.3 if variant == "lin" else 0.2) + (
            0.0 if importance == best else 0.05 if variant == "lin" else 0.4
        )

    claim = ledger(frame(worse_with_lin))["tasc-8"]  # over all variants alpha_grad would be the best by far
    assert claim.verdict == "not reproduced"
    assert claim.effect == pytest.approx(0.05)
    assert claim.test.endswith("shown: ∇α, Lin-TaSc")
    assert claim.n == 2 * 2 * 2 * 40


def test_f1_claims_count_texts_times_models():
    claim = tasc_claims._f1(labels(1.0), SAID)
    assert (claim.n, claim.n_of) == (2 * 2 * 40, "texts times models")  # of an encoder: attentions, seeds, texts


def test_a_large_corpus_counts_no_more_than_a_small_one_in_tables_figures_and_claims():
    """Lin-TaSc gains .5 in a corpus of 40 texts and loses .1 in one of 200."""

    def gains(encoder, attention, variant, importance):
        return 0.2 if variant == "lin" else 0.7

    def loses(encoder, attention, variant, importance):
        return 0.4 if variant == "lin" else 0.3

    large = frame(loses, dataset="imdb", texts=[f"l{i}" for i in range(200)])
    flips = pd.concat([frame(gains), large], ignore_index=True)
    table = tasc_tables.aggregate_table(flips, FRACTION).set_index(["importance", "attention", "variant"])
    assert table.loc[("α∇α", "Dot", "Lin-TaSc"), "value"] == pytest.approx(0.3)
    assert table.loc[("α∇α", "Dot", "Lin-TaSc"), "ratio"] == pytest.approx(0.6)
    assert tasc_tables.changes(flips, FRACTION, ["importance"])["estimate"].tolist() == pytest.approx([-0.2] * 3)
    claims = ledger(flips)
    for k in (2, 3, 4):
        assert claims[f"tasc-{k}"].effect == pytest.approx(-0.2)
        assert claims[f"tasc-{k}"].verdict == "reproduced"
    drawn = tasc_figures.grouped(flips, FRACTION).axes[0].containers  # α: one set of markers a variant
    assert drawn[1].lines[0].get_ydata().tolist() == pytest.approx([0.3, 0.3])  # Lin-TaSc: LSTM, MLP


def test_what_was_not_measured_is_not_tested_and_says_so():
    claims = ledger(frame(paper_like, encoders=("mlp",)))
    for k in (6, 7, 11, 12):
        assert (claims[f"tasc-{k}"].verdict, claims[f"tasc-{k}"].n) == ("not tested", 0)
        assert "not part of this run" in claims[f"tasc-{k}"].note


def test_a_claim_about_bert_needs_three_trainings_and_says_where_it_was_frozen():
    words = frame(paper_like, seeds=(0, 1, 2))
    for seeds, verdict in (((0,), "not tested"), ((0, 1, 2), "reproduced")):
        both = pd.concat([words, frame(paper_like, encoders=("bert",), seeds=seeds)], ignore_index=True)
        for frozen in (True, False):
            for claim in tasc_claims._bert(both, SAID, frozen):
                assert claim.verdict == verdict
                assert ("frozen" in claim.claim) == frozen
                assert ("1 training of a frozen encoder" in claim.note) == (frozen and seeds == (0,))


def test_performance_is_judged_for_each_encoder_and_a_short_measured_one_is_named():
    words, bert = labels(1.0), labels(0.8, encoders=("bert",), seeds=(0,))
    few = pd.concat([words, bert], ignore_index=True)
    claim = tasc_claims._f1(few, SAID)
    assert claim.verdict == "reproduced"
    assert "1 training: Lin-TaSc with BERT -0.2" in claim.note
    often = labels(0.8, encoders=("bert",))
    claim = tasc_claims._f1(pd.concat([words, often], ignore_index=True), SAID)
    assert claim.verdict == "not reproduced", "a mean over encoders would hide it"
    assert claim.test.endswith("shown: Lin-TaSc, BERT")
    table = tasc_tables.f1_change_table(few).set_index(["encoder", "variant"])
    assert table.loc[("BERT", "Lin-TaSc"), "seeds"] == 1
    assert table.loc[("BERT", "Lin-TaSc"), "change"].startswith("-0.2")


def test_where_nothing_was_learned_there_is_no_performance_to_lose():
    told = labels(1.0)
    told.loc[told["encoder"] == "mlp", "prediction"] = "no"
    claim = tasc_claims._f1(told, SAID)
    assert (claim.verdict, claim.n) == ("reproduced", 2 * 2 * 40)
    assert "learned nothing: sst MLP Dot, sst MLP Tanh" in claim.note
    collapsed = labels(1.0)
    collapsed.loc[(collapsed["encoder"] == "mlp") & (collapsed["variant"] == "lin"), "prediction"] = "no"
    assert tasc_claims._f1(collapsed, SAID).verdict == "not reproduced", "TaSc broke the model"
    assert tasc_claims._f1(told.assign(prediction="no"), SAID).verdict == "not tested"


def test_a_model_near_chance_learned_nothing():
    """Six classes, one text in four right: above always predicting one class (.05), close to guessing (.17)."""
    truth = [f"c{i % 6}" for i in range(120)]
    said = [t if i % 4 == 0 else f"c{(i + 1 + i // 6 % 5) % 6}" for i, t in enumerate(truth)]
    cell = {"dataset": "sst", "encoder": "mlp", "attention": "dot", "variant": "none", "seed": 0}
    table = pd.DataFrame({"instance": range(120), "truth": truth, "prediction": said}).assign(**cell)
    assert len(tasc_tables.idle(table)) == 1
    assert len(tasc_tables.idle(table.assign(prediction=truth))) == 0


def test_without_enough_texts_nothing_is_judged():
    claims = ledger(frame(paper_like, texts=TEXTS[:6]))
    assert {claim.verdict for claim in claims.values()} == {"not tested"}
    assert "6 test texts" in claims["tasc-3"].note


def test_where_no_encoder_has_every_cell_the_means_over_cells_are_not_tested():
    flips, told = frame(paper_like), labels(1.0)
    for encoder, attention in (("lstm", "dot"), ("mlp", "additive")):
        dead = (told["encoder"] == encoder) & (told["attention"] == attention)
        told.loc[dead, "prediction"] = "no"
    claims = ledger(flips, told=told)
    assert {claims[f"tasc-{k}"].verdict for k in (2, 3, 5, 6, 7, 8, 13)} == {"not tested"}
    assert claims["tasc-4"].verdict == "reproduced"


def test_effects_are_the_differences_of_the_world_and_a_narrower_spread_is_found():
    flips = frame(paper_like)
    flat = (flips["variant"] == "lin") & (flips["metric"] == FRACTION) & (flips["importance"] == "alpha_grad")
    flips.loc[flat, "value"] = np.where(flips.loc[flat, "attention"] == "dot", 0.25, 0.31)
    claims = ledger(flips)
    # none: .50 for LSTM and .40 for MLP; lin: .31 with Tanh, .25 with Dot
    assert claims["tasc-3"].effect == pytest.approx(0.28 - 0.45)
    assert claims["tasc-3"].n == 2 * 2 * 2 * 40
    assert claims["tasc-4"].effect == pytest.approx(0.28 - 0.40)  # MLP gains least
    assert claims["tasc-6"].effect == pytest.approx(0.10)
    assert claims["tasc-7"].effect == pytest.approx(0.0)
    assert (claims["tasc-9"].effect, claims["tasc-9"].n) == (1.0, 4)
    assert (claims["tasc-10"].effect, claims["tasc-10"].n) == (1.0, 12)
    assert claims["tasc-13"].verdict == "reproduced"
    assert claims["tasc-13"].effect == pytest.approx(-0.02)


def test_the_aggregate_table_stands_beside_the_papers_with_ratios():
    table = tasc_tables.aggregate_table(frame(paper_like), FRACTION).set_index(
        ["importance", "attention", "variant"]
    )
    row = table.loc[("α∇α", "Dot", "Lin-TaSc")]
    assert row["value"] == pytest.approx(0.25, abs=1e-3)
    assert row["ratio"] == pytest.approx(0.25 / 0.45, abs=1e-2)
    assert (row["paper's mean"], row["paper's ratio"]) == (0.21, pytest.approx(0.21 / 0.41))
    assert row["n"] == 2 * 2 * 40
    top = tasc_tables.aggregate_table(frame(paper_like), TOP1).set_index(["importance", "attention", "variant"])
    assert top.loc[("α∇α", "Dot", "Lin-TaSc"), "value"] == 100.0
    assert top.loc[("α", "Tanh", "No-TaSc"), "paper's mean"] == 8.4


def test_a_difference_from_the_paper_needs_the_papers_cells():
    def level(encoder, attention, variant, importance):
        return 0.5 if variant == "none" else 0.3

    encoders = ("lstm", "gru", "mlp", "cnn", "bert")
    corpora = ("sst", "adr", "imdb", "agnews", "anemia")
    options = {"seeds": (0,), "texts": TEXTS[:2]}
    for names, there in ((corpora, True), (("rotten_tomatoes", *corpora[1:]), False), (corpora[:2], False)):
        flips = pd.concat([frame(level, encoders=encoders, dataset=d, **options) for d in names])
        table = tasc_tables.aggregate_table(flips, FRACTION)
        assert ("difference" in table) == there
    assert "difference" not in tasc_tables.aggregate_table(frame(level), FRACTION), "two of five encoders"
    both = pd.concat([frame(paper_like), frame(paper_like, dataset="rotten_tomatoes")], ignore_index=True)
    table = tasc_tables.baseline_table(both).set_index("dataset")
    assert set(table["paper's corpus"]) == {"sst"}
    assert table.loc["sst", "difference"].notna().all()
    assert table.loc["rotten_tomatoes", "difference"].isna().all()
    assert "difference" not in tasc_tables.baseline_table(frame(paper_like, dataset="rotten_tomatoes"))


def test_an_encoder_with_a_part_of_the_grid_stays_out_of_means_over_cells():
    flips = frame(paper_like)
    part = frame(lambda *cell: 0.99, encoders=("bert",), seeds=(0,))
    both = pd.concat([flips, part], ignore_index=True)
    pd.testing.assert_frame_equal(
        tasc_tables.aggregate_table(both, FRACTION), tasc_tables.aggregate_table(flips, FRACTION)
    )
    assert set(tasc_tables.changes(both, FRACTION, ["encoder"])["encoder"]) == {"lstm", "mlp", "bert"}


def test_conventions_tell_never_and_empty_apart():
    flips = frame(paper_like, encoders=("mlp",), seeds=(0,))
    cell = (flips["importance"] == "alpha_grad") & (flips["attention"] == "dot") & (flips["variant"] == "lin")
    rows = flips.index[cell & (flips["metric"] == FRACTION)]
    flips.loc[rows[:10], ["status", "value"]] = ["never", 1.0]
    flips.loc[rows[10:15], ["status", "value"]] = ["only_when_empty", 1.0]
    table = tasc_tables.conventions(flips).set_index(["attention", "variant"])
    assert set(table["dataset"]) == {"sst"}
    row = table.loc[("Dot", "Lin-TaSc")]
    assert row[["never flips", "only when empty", "flips before"]].tolist() == [0.25, 0.125, 0.625]
    assert row["mean of those"] == pytest.approx(flips.loc[rows[15:], "value"].mean())


def test_tables_2_and_5_take_the_papers_value_of_the_nearest_corpus():
    ours = frame(paper_like, dataset="rotten_tomatoes")
    table = tasc_tables.baseline_table(ours)
    assert set(table["dataset"]) == {"rotten_tomatoes"}
    row = table[
        (table["encoder"] == "LSTM") & (table["attention"] == "Tanh") & (table["importance"] == "α∇α")
    ].iloc[0]
    assert (row["paper"], row["variant"]) == (0.19, "Lin-TaSc")
    f1 = tasc_tables.f1_table(labels(1.0)).set_index(["encoder", "attention", "variant"])
    assert f1.loc[("MLP", "Dot", "Lin-TaSc"), ["value", "paper"]].tolist() == [1.0, 0.78]
    said = tasc_words.baseline_sentences(table)[0]
    assert "**4 of 4 cells**" in said


def test_fractions_that_agree_to_two_digits_are_comparable():
    names = ("WO", "x∇x", "IG", "α∇α")
    fractions = {"LSTM": (0.3, 0.25, 0.204, 0.196), "MLP": (0.3, 0.25, 0.204, 0.19), "CNN": (0.1, 0.2, 0.2, 0.15)}
    rows = [
        {"dataset": "sst", "encoder": e, "attention": "Dot", "importance": n, "value": v, "paper": np.nan}
        for e, values in fractions.items()
        for n, v in zip(names, values, strict=True)
    ]
    (said,) = tasc_words.baseline_sentences(pd.DataFrame(rows))
    assert "**1 of 3 cells**, and the same to two digits in 1." in said


def words_of(dataset: str, seed: int, u: list[float]) -> pd.DataFrame:
    cell = {"dataset": dataset, "encoder": "lstm", "attention": "dot", "seed": seed}
    return pd.DataFrame({"word": list("abcdefg"), "u": u, "s": 1.0, "count": [5, 5, 5, 5, 5, 5, 1]}).assign(**cell)


def test_the_words_of_u_are_ordered_from_both_ends_in_every_cell():
    up, down = [3.0, -2, 1, 0, -1, 2, -3], [-3.0, 2, -1, 0, 1, -2, 3]
    words = pd.concat([words_of("imdb", 0, up), words_of("adr", 0, down), words_of("imdb", 1, up)])
    table = tasc_tables.word_table(words, 2)
    assert table["word"].tolist() == ["a", "f", "g", "b"] * 2 + ["g", "b", "a", "f"]
    assert table["rank"].tolist() == [1, 2] * 6
    assert table["dataset"].tolist() == ["imdb"] * 8 + ["adr"] * 4
    assert (table["encoder"] == "LSTM").all()
    imdb, adr, _ = tasc_words.word_sentences(words, 2)
    assert imdb.startswith("imdb, LSTM with Dot: 14.3% of the 7 words")
    assert "share **4 of the 4** words with the largest |u|; 4 of those have the same sign" in imdb
    assert adr.startswith("adr, LSTM with Dot")
    assert "share" not in adr  # one seed


def test_pooling_and_parameter_tables():
    flips = frame(paper_like, encoders=("mlp",), variants=("lin",))
    pools = pd.concat([flips.assign(pool=p, value=flips["value"] + k / 10) for k, p in enumerate(("mean", "sum"))])
    told = labels(1.0).query("encoder == 'mlp' and attention == 'dot' and variant == 'lin'")
    table = tasc_tables.pooling_table(
        pools[pools["attention"] == "dot"], pd.concat([told.assign(pool=p) for p in ("mean", "sum")])
    )
    assert table["pooling"].tolist() == ["sum (the paper)", "mean"]
    assert table["fraction"].tolist() == pytest.approx([0.35, 0.25], abs=1e-3)
    sizes = pd.DataFrame({"vocabulary": 100, "embedding": 10, "scaling": [0, 100, 1000, 265]})
    sizes = sizes.assign(dataset="sst", encoder="mlp", variant=["none", "lin", "feat", "conv"])
    counted = tasc_tables.parameter_table(sizes)
    assert (counted["by formula"] == counted["in the model"]).all()


def test_the_corpus_table_has_the_papers_row():
    import attnlib as al

    corpus = al.load_corpus("planted", n_train=20, n_dev=5, n_test=5)
    table = tasc_tables.corpus_table([corpus])
    assert table.loc[0, "train / dev / test"] == "20 / 5 / 5"
    assert table.loc[0, "paper's corpus"] == "–"
    object.__setattr__(corpus, "name", "rotten_tomatoes")
    row = tasc_tables.corpus_table([corpus]).loc[0]
    assert (row["paper's corpus"], row["paper: |V|"]) == ("sst", 13686)
    assert row["paper: train / dev / test"] == "6,920 / 872 / 1,821"


def test_figures_draw_every_panel():
    flips = pd.concat([frame(paper_like), frame(paper_like, dataset="imdb")], ignore_index=True)
    assert len(tasc_figures.grouped(flips, FRACTION).axes) == 6
    assert len(tasc_figures.grouped(frame(paper_like), TOP1).axes) == 3
    for dataset in ("sst", "imdb"):
        picture = tasc_figures.baselines(tasc_tables.baseline_table(flips), dataset)
        assert picture.axes[0].get_yticklabels()[0].get_text() == "LSTM, Tanh  (n = 80)"
        assert picture.axes[0].get_title(loc="left").startswith(dataset)


def test_the_notebook_draws_table_5_for_every_corpus():
    drawn = {}
    keep = SimpleNamespace(
        figure=lambda figure, name, **said: drawn.update({name: figure.axes[0].get_title("left")})
    )
    cells = nbformat.read(paths.notebooks() / "01_tasc.ipynb", as_version=4).cells
    (source,) = (cell.source for cell in cells if "figures.baselines" in cell.source)
    flips = pd.concat([frame(paper_like), frame(paper_like, dataset="imdb")], ignore_index=True)
    names = {"data": [SimpleNamespace(name="sst"), SimpleNamespace(name="imdb")], "figures": tasc_figures}
    exec(source, names | {"output": keep, "compared": tasc_tables.baseline_table(flips)})
    assert [title.split(":")[0] for title in drawn.values()] == ["sst", "imdb"]


def test_boxes_hold_single_cells():
    flips = pd.concat([frame(paper_like), frame(lambda *cell: 0.9, dataset="imdb")], ignore_index=True)
    cells = [("imdb", "mlp", "dot"), ("sst", "lstm", "additive"), ("adr", "bert", "additive")]
    panels = tasc_figures.boxes(flips, cells).axes
    titles = [axis.get_title(loc="left") for axis in panels]
    assert titles == ["imdb\nMLP, Dot  (n = 80)", "sst\nLSTM, Tanh  (n = 80)"]  # ADR was not measured
    medians = [line.get_ydata()[0] for line in panels[0].lines if len(set(line.get_ydata())) == 1]
    assert 0.9 in [pytest.approx(m) for m in medians]
    (said,) = tasc_words.box_sentences(flips, cells)
    assert "imdb, MLP with Dot: No-TaSc 0.90 (quartiles 0.88 and 0.92, n = 80), Lin-TaSc 0.90" in said
    assert "sst, LSTM with Tanh: No-TaSc 0.50 (quartiles 0.48 and 0.52, n = 80), Lin-TaSc 0.31" in said
    assert "adr" not in said


def test_sentences_name_levels_and_chance():
    said = tasc_words.flip_sentences(frame(paper_like), FRACTION)[0]
    assert "α∇α from 0.450 to 0.280" in said
    assert "Holm" not in said
    same = frame(lambda *cell: 0.4)
    noise = np.random.default_rng(0).normal(0, 0.05, len(same))
    told = tasc_words.flip_sentences(same.assign(value=same["value"] + noise), FRACTION)[0]
    assert told.count("Holm") == 3


def test_of_a_long_text_the_beginning_is_drawn():
    parts = ("attention", "scale", "product", "adds")
    table = pd.DataFrame({f"{part}, {side}": np.full(300, 0.1) for part in parts for side in ("without", "with")})
    figure = tasc_figures.picture(table.assign(token="word"), "1")
    assert figure.get_size_inches()[0] < 20
    assert len(figure.axes[-1].get_xticks()) == tasc_figures.LINE
    assert "first 30 of 300 tokens" in figure.axes[0].get_title(loc="left")


def test_a_word_that_takes_away_adds_nothing():
    table = pd.DataFrame(
        {"token": ["dull", "film"], "attention, without": [0.6, 0.4], "attention, with": [0.5, 0.5]}
    )
    table = table.assign(**{"adds, without": [-0.2, -0.1], "adds, with": [-0.1, 0.0042]})
    (said,) = tasc_words.picture_sentences(table, "1")
    assert "(0.60), and no word adds to “1”. With" in said
    assert "“film” adds most to “1” (+0.0042)" in said


def test_a_check_fails_when_the_two_tests_disagree():
    flips = frame(paper_like, encoders=("lstm", "mlp"))
    params = tasc.Params(variants=["none", "lin"])
    sizes = pd.DataFrame({"variant": ["lin"], "scaling": [5], "vocabulary": [5]})
    grid = SimpleNamespace(failures=[])
    found = SimpleNamespace(flips=flips, labels=labels(1.0), parameters=sizes, grid=grid)
    fraction = flips["metric"] == FRACTION
    flips.loc[fraction, "value"], flips.loc[~fraction, "value"] = 2 / 20, 0.0
    assert all(tasc_words.checks(params, found).values())
    flips.loc[flips.index[fraction][0], "value"] = 1 / 20
    wrong = [name for name, passed in tasc_words.checks(params, found).items() if not passed]
    assert wrong == ["the top token flips a text where the fraction is one token"]


def test_models_that_learned_nothing_are_named_and_judged_by_their_f1_alone():
    predicted = labels(1.0)
    dead = (predicted["encoder"] == "mlp") & (predicted["variant"] == "lin") & (predicted["seed"] == 1)
    predicted.loc[dead, "prediction"] = "no"
    found = tasc_tables.idle(predicted)
    assert set(found.itertuples(index=False, name=None)) == {
        ("sst", "mlp", a, "lin", 1) for a in ("additive", "dot")
    }
    flips = frame(paper_like)
    kept = tasc_tables.without_idle(flips, predicted)
    assert set(kept.loc[kept["encoder"] == "mlp", "seed"]) == {0}, "no variant has a partner there"
    assert set(kept.loc[kept["encoder"] == "lstm", "seed"]) == {0, 1}
    every = predicted.assign(prediction="no")
    claims = ledger(flips, told=every)
    assert {claim.verdict for claim in claims.values()} == {"not tested"}
    assert all("learned" in claim.note for claim in claims.values())


def test_the_text_about_the_pretrained_encoder_follows_the_parameters():
    def said(**changes):
        return tasc_words.pretrained_sentences(tasc.Params(bert_variants=["none", "lin"], **changes))[0]

    assert "frozen" in said(bert_frozen=True, bert_limit=1500)
    assert "1,500" in said(bert_frozen=True, bert_limit=1500)
    assert "fine-tuned" in said()
    assert "frozen" not in said()
    assert "not tested" in tasc_words.pretrained_sentences(tasc.Params())[0]
