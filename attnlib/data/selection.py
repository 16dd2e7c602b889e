"""Some texts of a split: a random sample for costly measures, presentable ones for display."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from attnlib.data.types import Example
from attnlib.utils.errors import ConfigError

STEMS = """
    arous asshole bastard bestial bitch blowjob boob breast brothel bukkake clit coitus condom crotch cunt dildo
    erection erotic escort fellat fetish fuck genital hooker horny incest jizz lesbo lewd libido masturbat milf
    molest naked nazi nigg nipple nude nympho obscen orgas orgy paedo pedo penis piss pimp porn promiscu
    prostitut pubic pussy rapist retard scrotum semen sex shit slut smut sodom sperm stripper tranny vagin
    virgin vulva wank whore abus behead blood bomb butcher carnage child-molest corpse crucif decapit dismember
    execution gore gory genocid holocaust kill knife lynch maim massacre murder mutilat savage shoot slaughter
    slay stab strangl suicid terroris tortur violen chink gook kike paki towelhead wetback
""".split()
"""Beginnings of words. Deliberately wide: a harmless text that is passed over costs nothing."""
WHOLE = """
    anal anus ass cock coon cum dead dick dyke fag gun hang hanged rape raped raping shag shot spic tard tits
""".split()
"""Whole words, or their plurals: as beginnings they would hit assume, cumulative or deadpan."""
_FOUND = re.compile(rf"{'|'.join(STEMS)}|(?:{'|'.join(WHOLE)})(?:e?s)?$")


def sampled(examples: Sequence[Example], n: int | None, seed: int = 0) -> list[Example]:
    """`n` of the texts at random, in their own order (None: all), since splits may be sorted by class.

    A smaller sample with the same seed lies within a larger one, so that measures on both can be paired.
    """
    if n is not None and n < 1:
        raise ConfigError(f"A sample needs at least one text; got n = {n}. None takes them all.")
    if n is None or n >= len(examples):
        return list(examples)
    chosen = np.random.default_rng(seed).permutation(len(examples))[:n]
    return [examples[i] for i in np.sort(chosen)]


def presentable(tokens: Iterable[str]) -> bool:
    """Whether none of the words is on the list."""
    return not any(_FOUND.match(token.lower().lstrip("#'\"-")) for token in tokens)


def preferred(examples: Sequence[Example]) -> list[Example]:
    """The examples that can be shown to anybody; all of them where there are none."""
    return [example for example in examples if presentable(example.tokens)] or list(examples)
