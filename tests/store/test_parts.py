"""Parts that a user registers belong to the identity of the runs that use them, on every executor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import pytest
import torch

import attnlib as al
from attnlib.models.projections import PROJECTIONS
from attnlib.rankings.base import METHODS, method
from attnlib.store.entries import Store
from attnlib.store.executors import make_executor
from attnlib.store.grid import run_grid
from attnlib.store.keys import Keys
from attnlib.store.specs import Corpora, MeasureSpec, canonical
from attnlib.store.tasks import Job, execute
from attnlib.utils.errors import ConfigError
from attnlib.utils.registry import lent
from tests.grid_tasks import small_fit, squares

FIT = small_fit()
RUN = MeasureSpec.of(al.erasure_curves, FIT, ranking="mine")


def register(sign: int, name: str = "mine") -> None:
    """As a cell of a notebook does."""

    def ranking(case):
        """Mine."""
        return sign * case.trace.alpha

    ranking.__name__ = name
    method()(ranking)


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    pool = make_executor("local", jobs=1)
    yield pool
    pool.shutdown(cancel_futures=True)


def curves(result) -> list[float]:
    return result.complete().frame()["probability"].tolist()


@pytest.mark.parametrize("where", ["serial", "workers"])
def test_another_ranking_of_the_same_name_is_computed(store: Store, request, where: str) -> None:
    executor = request.getfixturevalue("workers") if where == "workers" else where
    found = []
    for sign in (1, -1):
        register(sign)
        result = run_grid([RUN], store=store, executor=executor)
        assert (result.cached, result.computed) == (0, 1)
        found.append(curves(result))
        again = run_grid([RUN], store=store, executor=executor)
        assert (again.cached, curves(again)) == (1, found[-1])
    assert found[0] != found[1]
    by_alpha = MeasureSpec.of(al.erasure_curves, FIT, ranking="alpha")
    result = run_grid([by_alpha], store=store, executor=executor)
    assert curves(result) == found[0]
    assert result.models == 0, "the model does not depend on a ranking"
    register(1)
    assert run_grid([RUN], store=store).cached == 1, "the first definition again"


def test_one_in_the_place_of_the_kits_counts_while_it_is_there(store: Store, workers) -> None:
    run = MeasureSpec.of(al.erasure_curves, FIT, ranking="alpha")
    kit = METHODS["alpha"]
    before, key = curves(run_grid([run], store=store, executor=workers)), Keys(Corpora()).of(FIT)
    register(-1, "alpha")
    assert curves(run_grid([run], store=store, executor=workers)) != before
    assert Keys(Corpora()).of(FIT) == key, "the model does not use it"
    METHODS.register("alpha")(kit)
    other = store.root.with_name("other")
    assert curves(run_grid([run], store=other, executor=workers)) == before, "the worker has the kit's again"


def test_a_model_counts_the_parts_that_its_config_names(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = FIT.replace(params={"warm_parts": ["mine"]})
    keys = [Keys(Corpora()).of(fit)]
    for power in (1, 2):
        PROJECTIONS.register("mine")(lambda scores, mask, power=power: torch.softmax(scores * power, -1))
        keys.append(Keys(Corpora()).of(fit))
        assert Keys(Corpora()).of(FIT) == Keys(Corpora()).of(FIT)
    assert len(set(keys)) == 3


class Opaque:
    """A ranking whose code cannot be read."""

    __name__ = "opaque"
    __doc__ = "Mine."

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("made elsewhere")

    def __call__(self, case):
        return case.trace.alpha


def test_a_part_without_a_source_makes_the_run_uncached_and_says_so(store: Store) -> None:
    method()(Opaque())
    run = MeasureSpec.of(al.erasure_curves, FIT, ranking="opaque")
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"'opaque' cannot be had: .*made elsewhere.* computed each time"):
            result = run_grid([run], store=store).complete()
        assert (result.cached, result.computed) == (0, 1)
        assert len(result.frame())


def test_a_part_that_a_run_uses_and_does_not_name_is_refused(store: Store) -> None:
    register(1)
    run = MeasureSpec.of("grid_tasks:by_initial", FIT, initial="m")
    failed = run_grid([run], store=store).failures
    assert "used the importance method 'mine', which is not the kit's" in failed["message"][0]
    assert failed["attempts"][0] == 1


def test_a_part_that_cannot_travel_is_refused(store: Store, workers) -> None:
    register(1)
    spec = METHODS["mine"]
    with (
        lent({("importance method", "mine"): Unsent(**vars(spec))}),
        pytest.raises(ConfigError, match="'mine' cannot be sent to workers: no way"),
    ):
        run_grid([RUN], store=store, executor=workers)


class Unsent(type(METHODS["alpha"])):
    def __reduce_ex__(self, protocol: Any) -> Any:
        if protocol != 4:
            raise TypeError("no way")
        return super().__reduce_ex__(protocol)


def test_code_that_differs_on_the_worker_is_refused() -> None:
    register(1)
    for name in ("attnlib", "grid_tasks:by_initial", "importance method mine", "data"):
        run = MeasureSpec.of("grid_tasks:by_initial", FIT, initial="mine")
        names = Keys(Corpora())
        there = json.loads(canonical(names.identity(run)))
        there |= {name: "another"} if name == "data" else {"code": there["code"] | {name: "another"}}
        outcome = execute(Job(run, [(names.of(FIT), "")], names.named(run), identity=there))
        assert f"differ from the driver's: {name}. Install the same attnlib" in outcome.error["message"]
        assert outcome.final, "it would differ again"


def test_parts_that_cannot_be_loaded_are_refused() -> None:
    outcome = execute(Job(*squares(1), parts=b"not a pickle"))
    assert "cannot be loaded" in outcome.error["message"]
    assert outcome.final
