"""Texts that are not shown as examples: those with a slur or a word of sex or violence.

They are trained on and measured like all others; only what a notebook picks to show a reader leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnlib.data.types import Example

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


def presentable(tokens: Iterable[str]) -> bool:
    """Whether none of the words is on the list."""
    return not any(_FOUND.match(token.lower().lstrip("#'\"-")) for token in tokens)


def preferred(examples: Sequence[Example]) -> list[Example]:
    """The examples that can be shown to anybody; all of them where there is no such one."""
    return [example for example in examples if presentable(example.tokens)] or list(examples)
