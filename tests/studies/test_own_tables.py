"""Notebooks 00 and 01, cell by cell, on small awkward tables: each gets to its end and judges only what it can."""

import pytest
from own_tables import NAMES, write

from tests.notebook_cells import run_cells

pytestmark = pytest.mark.slow
TINY = {"vectors": "none", "hidden_size": 8, "epochs": 1}
ONE_CELL = {"encoders": ["mlp"], "attentions": ["additive"], "variants": ["none", "lin"], "seeds": [0]}


def short(folder):
    """Two classes, texts of one or two words."""
    rows = [f"{'good' if i % 2 else 'bad'}{i}{' film' if i % 3 else ''},{'pn'[i % 2]}" for i in range(240)]
    path = folder / "short.csv"
    path.write_text("\n".join(["text,label", *rows]))
    return path


@pytest.mark.parametrize("name", [*NAMES, "short"])
def test_00_gets_to_its_end(tmp_path, name):
    path = short(tmp_path) if name == "short" else write(tmp_path, name)
    found = run_cells("00_quickstart", tmp_path, corpora=[str(path)], **TINY)
    assert {claim.verdict for claim in found["run"].claims} <= {"not tested", "undetermined", "not reproduced"}


@pytest.mark.parametrize("name", [*NAMES, "short"])
def test_01_gets_to_its_end_with_a_single_cell(tmp_path, name):
    path = short(tmp_path) if name == "short" else write(tmp_path, name)
    more = {"corpora": [str(path)], "texts": 20, "limit": 100, "options": {"embedding_size": 8, "ig_steps": 4}}
    found = run_cells("01_tasc", tmp_path, **TINY, **ONE_CELL, **more)["run"].claims
    assert len(found) == 21
    decided = {claim.verdict for claim in found} - {"not tested", "undetermined"}
    assert not decided, "one epoch teaches nothing"
