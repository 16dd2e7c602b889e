"""What the profiles of the erasure study run, and how its frames are chosen from."""

from __future__ import annotations

from attnlib.studies.erasure.grid import grid
from tests.studies.erasure.frames import profile


def test_every_profile_is_the_grid_it_says():
    sizes = {}
    for name in ("smoke", "cpu", "paper"):
        runs = grid(profile(name))
        fits = [run.fits[0] for run in runs if run.fits]
        sizes[name] = (len(runs), sum(f.model.hierarchical for f in fits))
    assert sizes["smoke"] == (2 * 3 * 2, 6)
    assert sizes["cpu"] == (2 * 2 * 3 * 3, 18)
    assert sizes["paper"] == (24 * 3, 36)
