"""The whole notebook on attention and information, cell by cell: two corpora to classify, two with a query."""

from __future__ import annotations

import json

import nbformat
import numpy as np
import pandas as pd
import pytest

from attnlib.studies.datasets import short
from attnlib.studies.mutual_information import intervals, tables
from attnlib.utils import paths

pytestmark = pytest.mark.slow

QUICK = {
    "limit": 40,
    "embedding_size": {"other": 5, "babi_1": 4},
    "encoders": ["lstm", "mlp"],
    "attentions": ["additive", "dot"],
    "hidden_sizes": {"lstm": 6, "mlp": 6},
    "seeds": [0, 1],
    "epochs": 2,
    "learning_rate": 0.02,  # some learn, some do not
    "query_epochs": 6,
    "query_learning_rate": 0.05,  # else every output is the same, and there is no tau
    "counts": [3, 4],
    "texts": None,
    "resamples": 3,
    "gumbel_seeds": [0],
    "ablation_seeds": [0, 1],
    "adversary_seeds": [0, 1],
    "adversary_epochs": 1,
}


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """Names that the notebook leaves behind, and the folder it wrote to."""
    folder = tmp_path_factory.mktemp("chain")
    classified = str(_reviews(folder / "reviews.csv"))
    told = QUICK | {
        "corpora": ["planted", classified],
        "query_corpora": [
            {"corpus": "stories", "n_train": 40, "n_dev": 20, "n_test": 30},
            {"corpus": "babi_1", "path": str(_babi(folder / "babi"))},
        ],
    }
    notebook = nbformat.read(paths.notebooks() / "04_mutual_information.ipynb", as_version=4)
    names: dict = {"__name__": "chain"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLIB_STORE", str(folder / "store"))
        patch.setenv("ATTNLIB_PROGRESS", "0")
        patch.setenv("ATTNLIB_OUT", str(folder / "out"))
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, "cell", "exec"), names)
            if "parameters" in cell.metadata.get("tags", []):
                assert set(told) <= set(names)
                names |= told
    return names, folder / "out"


def _reviews(file):
    rng = np.random.default_rng(0)
    sides = {"good": ["fine", "great", "lovely"], "bad": ["poor", "awful", "dull"]}
    rows = []
    for split, n in (("train", 40), ("dev", 20), ("test", 30)):
        for i in range(n):
            label = ("good", "bad")[i % 2]
            words = rng.choice(["film", "plot", "actor", "scene", "music", "end"], rng.integers(6, 10)).tolist()
            words.insert(int(rng.integers(len(words))), str(rng.choice(sides[label])))
            rows.append({"text": f"{' '.join(words)} {split}{i}", "label": label, "split": split})
    pd.DataFrame(rows).to_csv(file, index=False)
    return file


def _babi(folder):
    folder.mkdir()
    rng = np.random.default_rng(1)
    people, places = ["Mary", "John", "Sandra"], ["kitchen", "garden", "office"]
    for split, n in (("train", 60), ("test", 30)):
        lines = []
        for _ in range(n):
            told = {str(p): str(rng.choice(places)) for p in rng.permutation(people)}
            lines += [f"{k} {p} went to the {place}." for k, (p, place) in enumerate(told.items(), start=1)]
            who = str(rng.choice(people))
            lines.append(f"4 Where is {who}? \t{told[who]}\t{list(told).index(who) + 1}")
        (folder / f"qa1_single-supporting-fact_{split}.txt").write_text("\n".join(lines) + "\n")
    return folder


def _table(out, name: str) -> pd.DataFrame:
    return pd.read_parquet(out / "tables" / f"{name}.parquet")


def test_every_corpus_is_in_every_table(chain) -> None:
    names, out = chain
    params = names["params"]
    every = ["planted", "reviews", *params.query_corpora]
    for table in ("table1_corpora", "choices", "tau_by_cell"):
        assert list(dict.fromkeys(_table(out, table)["dataset"])) == every, table
    assert list(dict.fromkeys(_table(out, "table3_adversaries")["dataset"])) == every[:2]


def test_every_mean_leaves_out_what_learned_nothing(chain) -> None:
    names, out = chain
    learned = intervals.without_idle(names["found"].taus)
    assert names["left_out"].startswith(" Without ")
    claims = {claim["id"].rpartition("-")[2]: claim for claim in json.loads((out / "claims.json").read_text())}
    averages = _table(out, "averages").set_index(["encoder", "attention"])
    plain = intervals.plain(learned)
    assert (
        averages.loc[("all", "Additive"), "models"] == (plain["attention"] == "additive").sum() == claims["1"]["n"]
    )
    assert float(averages.loc[("all", "Additive"), "ours"].split()[0]) == pytest.approx(
        claims["1"]["effect"], abs=0.0051
    )
    assert _table(out, "tau_by_cell")["models"].sum() == len(plain)
    assert _table(out, "seeds")["dataset"].isin(plain["dataset"].map(short)).all()
    gumbel = tables.gumbel_pairs(learned)
    total = _table(out, "table5_gumbel").set_index("task").loc["all", "all"]
    assert total == f"{gumbel['kept'].sum()}/{len(gumbel)}"
    assert claims["8"]["n"] == len(gumbel)
    losses = _table(out, "table2_ablations")
    assert losses["models"].sum() * 2 == sum(len(tables.with_base(learned, v)) for v in tables.SPECIAL[:2])
    assert _table(out, "table5_gumbel")["task"].iloc[-1] == "all"


def test_sizes_counts_and_papers_values(chain) -> None:
    names, out = chain
    texts = _table(out, "table1_corpora")
    babi = texts[texts["dataset"] == "babi_1"].set_index("whose")
    assert babi.loc["paper: babi_1", "accuracy"] == "0.98"
    assert babi.loc["ours", "texts × models"] == "30 × 2"
    ours = babi.loc["ours", "accuracy"]
    assert float(ours.split()[0]) == pytest.approx(babi.loc["ours", "difference"] + 0.98, abs=0.006)
    assert "[" in ours, "accuracy has an interval"
    kept = intervals.shared(intervals.plain(names["learned"]), ["encoder", "attention"])
    cells = tables.named(kept).groupby(["encoder", "attention"])
    averages = _table(out, "averages").query("encoder != 'all'").set_index(["encoder", "attention"])
    assert averages["models"].to_dict() == cells.size().to_dict(), "stories have no MLP"
    assert set(averages["corpora"]) <= {kept["dataset"].nunique()}
    apart = _table(out, "table3_adversaries")
    values = {key: float(text.split()[0]) for key, text in apart.set_index(["dataset", "quantity"])["ours"].items()}
    for dataset in ("planted", "reviews"):
        assert values[dataset, "TVD as trained"] == pytest.approx(values[dataset, "TVD"] / 2, abs=0.001)
    every = tables.delta_table(names["found"].taus, 2, ["fix_attention"]).set_index("dataset")
    assert every.loc["babi_1", "paper"] == 1.7
    loss = _table(out, "table2_ablations")
    assert not loss["Δτ"].str.contains(r"\[").any(), "two pairs of models have no interval"


def test_claims_figures_and_words(chain) -> None:
    names, out = chain
    claims = {claim["id"].rpartition("-")[2]: claim for claim in json.loads((out / "claims.json").read_text())}
    taus = names["found"].taus
    learned = intervals.without_idle(taus)
    assert 0 < len(learned) < len(taus), "one epoch is too little for some"
    first = intervals.plain(learned)
    assert claims["1"]["n"] == (first["attention"] == "additive").sum()
    assert claims["5"]["n"] == len(tables.with_base(learned, "fix_attention")) / 2
    assert claims["8"]["n"] == len(tables.gumbel_pairs(learned)) <= 12
    assert claims["3"]["verdict"] == "not tested", "no deep attention here"
    assert claims["7"]["verdict"] == "not tested", "one epoch moves no attention"
    drawn = {file.stem for file in (out / "figures").glob("*.svg")}
    assert drawn == {"curves", "figure2_tau", "ablations", "uniformity", "gumbel"}
    boxes = (out / "figures" / "figure2_tau.svg").read_text()
    assert all(name in boxes for name in ("planted", "stories", "babi_1"))
    words, found = names["words"], names["found"]
    said = [text.partition(",")[0] for text in words.about_deltas(found.taus, ["fix_attention"])]
    assert said == ["planted", "reviews", "stories", "babi_1"], "a file by its stem"
    assert all(names["checks"].values())
