"""Words of the planted corpus: readable English for small vocabularies, made-up words beyond."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

NEGATION = "not"
STOP = "."

SENTIMENT = {
    "negative": "awful terrible boring dreadful weak ugly clumsy dull poor stale horrible tedious",
    "positive": "great wonderful lovely brilliant superb charming delightful clever warm fresh excellent gorgeous",
}
TOPICS = {
    "sport": "goal striker referee tournament coach medal league sprint stadium goalkeeper penalty champion",
    "science": "molecule telescope enzyme theorem laboratory physicist neuron genome quantum galaxy virus proton",
    "money": "shares inflation investor dividend banker mortgage revenue currency profit auction broker tariff",
    "music": "guitar melody orchestra concert rhythm singer chorus violin album drummer symphony lyric",
    "food": "recipe butter oven garlic dessert chef noodles cheese flavour bakery pepper soup",
    "travel": "airport luggage passport island hotel voyage tourist harbour ticket cruise hostel itinerary",
}
"""Decisive words of each class. Two classes are sentiments, more are topics."""

FILLER = (
    "the a of and to in it this that with for on as was is by at from one an be which into there about when more "
    "some what out up time people story film book place day night house street city river table window door room "
    "garden morning evening summer winter train car road letter paper hand face voice friend family child mother "
    "father brother sister teacher doctor neighbour writer actor scene page chapter part side end start moment "
    "week month year hour minute answer question idea plan name word line picture colour sound light water stone "
    "wood glass field hill bridge tower market office school kitchen coat hat shoe clock chair bed box bag key "
    "saw took gave made came went found kept told asked heard left put held turned walked stood looked opened "
    "closed waited called brought sent wrote read felt knew thought seemed became began moved stayed again also "
    "still just then now here later often always perhaps rather quite almost between under over near across along "
    "after before during behind around through another each every both other same small large long short early "
    "late old new open quiet round tall"
).split()

PEOPLE = "mary john sandra daniel".split()
PLACES = "kitchen garden office bathroom hallway bedroom cellar attic garage balcony library porch".split()
MOVES = ("went to", "travelled to", "walked to", "moved to")
THINGS = "apple football milk book lamp hat".split()


MOST = 15_000
"""The largest vocabulary: `made_up` has 18,000 words."""


def made_up() -> Iterator[str]:
    """Pronounceable words that are no English ones, always in the same order."""
    first = ["bl", "dr", "fl", "gr", "kl", "pr", "sk", "tr", "v", "z", "m", "n"]
    vowels = ["a", "e", "i", "o", "u"]
    last = ["lth", "mb", "nk", "rv", "sk", "x", "zz", "ld", "pt", "rn"]
    for tail in ("", "ik", "ol", "um", "ar", "en"):
        for (a, b), c, d in product(product(vowels, vowels), last, first):
            yield f"{d}{a}{c[0]}{b}{c}{tail}"
