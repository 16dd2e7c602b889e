"""The dry run: what is cached, what is not, and an estimate that says what it rests on."""

from __future__ import annotations

import json
import math

import pytest

from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.store.entries import Store
from attnlib.store.forecast import DEFAULT, SAME, SCALED, SHORT, SPEED, UNSIZED, dry_run
from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec


def small_fit(seed: int = 0, epochs: int = 1, corpus: str = "planted", encoder: str = "mlp") -> FitSpec:
    data = DataConfig(corpus=corpus, limit=40)
    model = ModelConfig(encoder=encoder, hidden_size=8, embedding_size=8)
    return FitSpec(data=data, model=model, train=TrainConfig(epochs=epochs), seed=seed)


def put(store: Store, key: str, columns: dict, environment: dict, kind: str = "fit", task: str = "t:f") -> None:
    spec = {"columns": columns, "kind": kind, "task": task}
    store.put(
        key * 32, {"spec.json": json.dumps(spec).encode(), "environment.json": json.dumps(environment).encode()}
    )


def test_trainings_are_estimated_from_the_median_speed_of_earlier_ones(store: Store) -> None:
    for key, seconds in (("aa", 1.0), ("bb", 2.0), ("cc", 50.0)):
        put(store, key, {"encoder": "mlp"}, {"tokens": 1000, "training_seconds": seconds, "seconds": 99})
    put(store, "dd", {"encoder": "lstm"}, {"tokens": 1, "training_seconds": 1.0, "seconds": 99})
    put(store, "ee", {"encoder": "mlp"}, {"seconds": 7.0}, kind="measure", task="grid_tasks:accuracy")
    fit = small_fit(epochs=3)
    forecast = dry_run([MeasureSpec.of("grid_tasks:accuracy", fit)], store=store, jobs=2)
    tokens = sum(map(len, load_corpus(fit.data).train))
    assert forecast.frame["kind"].tolist() == ["fit", "accuracy"]
    assert forecast.frame["seconds"].tolist() == [pytest.approx(3 * tokens / 500), 7.0]
    assert forecast.frame["basis"].tolist() == [SCALED, UNSIZED]
    assert forecast.seconds == pytest.approx((3 * tokens / 500 + 7) / 2)
    assert "2 runs, 0 in the store, 2 to compute: about" in forecast.summary


def test_what_is_cached_costs_nothing(store: Store) -> None:
    done = MeasureSpec.of("grid_tasks:accuracy", small_fit(0))
    run_grid([done], store=store).complete()
    forecast = dry_run([done, MeasureSpec.of("grid_tasks:accuracy", small_fit(1))], store=store)
    frame = forecast.frame
    assert frame["cached"].tolist() == [True, False, False]  # the model of a cached measure is not needed
    assert frame["seed"].tolist() == [0, 1, 1]
    assert frame["basis"].tolist() == ["", SAME, SAME]
    assert frame["seconds"].iloc[0] == 0
    assert (frame["seconds"].iloc[1:] > 0).all()
    assert "3 runs, 1 in the store, 2 to compute" in str(forecast)


def test_an_empty_store_measures_a_short_training(store: Store) -> None:
    forecast = dry_run([small_fit(seed) for seed in range(3)], store=store)
    assert set(forecast.frame["basis"]) == {SHORT}
    assert (forecast.frame["seconds"] > 0).all()
    assert list(store) == []  # nothing was run for the store
    silent = dry_run([small_fit(), MeasureSpec.of("grid_tasks:square", x=1)], store=store, calibrate=False)
    assert silent.frame["seconds"].isna().all()
    assert "2 without an estimate" in silent.summary


def test_a_corpus_that_is_not_at_hand_is_still_listed(store: Store) -> None:
    put(store, "aa", {"encoder": "mlp"}, {"tokens": 1000, "training_seconds": 1.0, "seconds": 99})
    runs = [MeasureSpec.of("grid_tasks:accuracy", small_fit(seed, corpus="mimic.csv")) for seed in (0, 1)]
    forecast = dry_run([*runs, small_fit()], store=store)
    assert forecast.frame["dataset"].tolist() == ["mimic.csv"] * 4 + ["planted"]
    assert math.isnan(forecast.frame["seconds"].iloc[0])
    assert str(forecast).count("mimic.csv: ") == 1  # why, once
    whole = small_fit().replace(data=DataConfig(corpus="mimic.csv"))
    known = dry_run([*runs, whole], store=store, sizes={"mimic.csv": (500, 60, 10)}).frame
    assert known.loc[known["kind"] == "fit", "seconds"].tolist() == [0.4, 0.4, 5.0]  # of 40, 40 and 500 texts


def test_a_corpus_at_hand_has_its_own_size(store: Store) -> None:
    put(store, "aa", {"encoder": "mlp"}, {"tokens": 1000, "training_seconds": 1.0, "seconds": 99})
    corpus = load_corpus("planted", limit=40)
    run = small_fit().replace(data=DataConfig(corpus="planted"))
    frame = dry_run([run], store=store, corpora={"planted": corpus}, sizes={"planted": (10**9, 10**8, 10)}).frame
    assert frame["seconds"].tolist() == [sum(map(len, corpus.train)) / 1000]


def test_a_model_that_cannot_be_built_here_is_listed_without_an_estimate(store: Store, tmp_path) -> None:
    absent = small_fit().model.replace(encoder="bert", pretrained=str(tmp_path / "nowhere"))
    frame = dry_run([small_fit().replace(model=absent)], store=store).frame
    assert frame["seconds"].isna().all()
    assert frame["encoder"].tolist() == ["bert"]


def test_an_empty_grid(store: Store) -> None:
    assert dry_run([], store=store).summary == "0 runs, 0 in the store, 0 to compute."


def test_a_forecast_does_not_wait_for_a_packaged_corpus(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(config):
        raise AssertionError(f"{config.corpus} was loaded")

    run = small_fit().replace(data=DataConfig(corpus="imdb", limit=100))
    monkeypatch.setattr("attnlib.data.load_corpus", refuse)
    row = dry_run([run], store=store, calibrate=False).frame.iloc[0]
    assert (row["dataset"], row["cached"], row["note"]) == ("imdb", False, "")


def ranked(corpus: str = "imdb", rankings: tuple[str, ...] = ("alpha",), texts: int | None = None) -> MeasureSpec:
    params = {"rankings": list(rankings), "texts": texts}
    fit = small_fit().replace(data=DataConfig(corpus=corpus))
    return MeasureSpec(task="attnlib.studies.tasc.measures:faithfulness", fits=(fit,), params=params)


def estimates(store: Store, *runs: MeasureSpec, **options) -> tuple[list[float], set[str]]:
    frame = dry_run(runs, store=store, calibrate=False, **options).frame
    frame = frame[frame["kind"] != "fit"]
    return frame["seconds"].tolist(), set(frame["basis"])


def test_a_measure_scales_with_texts_length_and_rankings(store: Store) -> None:
    spec = {"columns": {"encoder": "mlp"}, "kind": "measure", "task": ranked().task}
    spec["run"] = {"params": {"rankings": ["alpha", "random"], "texts": 50}}
    environment = {"seconds": 4.0, "texts": 100, "tokens": 2_000}  # 50 texts × 20 tokens × 2 rankings: 500 a second
    files = {"spec.json": spec, "environment.json": environment}
    store.put("ab" * 32, {name: json.dumps(value).encode() for name, value in files.items()})
    sizes = {"short": (1, 200, 10), "many": (1, 400, 10), "long": (1, 200, 40)}
    runs = [ranked(name) for name in sizes] + [ranked("short", ("a", "b", "c")), ranked("short", texts=20)]
    assert estimates(store, *runs, sizes=sizes) == ([4.0, 8.0, 16.0, 12.0, 0.4], {SCALED})


def test_a_measure_that_nobody_has_timed_has_a_default(store: Store) -> None:
    assert estimates(store, ranked("short"), sizes={"short": (1, 200, 10)}) == ([2_000 / SPEED], {DEFAULT})


def test_a_measure_stores_the_size_by_which_it_is_scaled(store: Store) -> None:
    run = MeasureSpec.of("grid_tasks:accuracy", small_fit())
    environment = run_grid([run], store=store).entry(run).environment
    test = load_corpus(small_fit().data).test
    assert (environment["texts"], environment["tokens"]) == (len(test), sum(map(len, test)))


def test_a_forecast_asks_nothing_of_the_hub(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnlib.data.load_corpus", lambda config: pytest.fail(f"{config.corpus} was loaded"))
    runs = [ranked("hub:nobody/nothing"), ranked("hub:yelp_review_full")]
    frame = dry_run(runs, store=store, calibrate=False).frame
    assert frame["note"].tolist() == [""] * 4
    assert frame.loc[frame["kind"] != "fit", "seconds"].isna().tolist() == [True, False]
