"""What the profiles of the erasure study run, and how its frames are chosen from."""

from __future__ import annotations

from attnlib.studies.erasure.grid import common_set, grid, several
from tests.studies.erasure.frames import firsts, profile


def test_every_profile_is_the_grid_it_says():
    sizes = {}
    for name in ("smoke", "cpu", "paper"):
        runs = grid(profile(name))
        fits = [run.fits[0] for run in runs if run.fits]
        sizes[name] = (len(runs), sum(f.model.hierarchical for f in fits))
    assert sizes["smoke"] == (2 * 3 * 2, 6)
    assert sizes["cpu"] == (2 * 2 * 3 * 3, 18)
    assert sizes["paper"] == (24 * 3, 36)


def test_the_common_set_holds_what_every_ranking_flips():
    removed = {
        "random": [10, 9, 8, None],
        "alpha": [5, 6, 10, 10],
        "grad_alpha": [1, 2, 10, 3],
        "alpha_grad": [1, 2, 3, 4],
    }
    frame = firsts(removed, alone=2)
    assert set(common_set(frame)["instance"]) == {"t0", "t1", "t2"}
    assert len(several(frame)) == 16
