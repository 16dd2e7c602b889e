"""Sentences: escaped, with intervals on one line."""

from bs4 import BeautifulSoup

from attnlib.viz.prose import emphasised, say


def test_saying_escapes_and_makes_bold():
    said = say("a **<script>** b", "x < y & z")
    page = BeautifulSoup(str(said), "html.parser")
    assert [p.get_text() for p in page.find_all("p")] == ["a <script> b", "x < y & z"]
    assert page.b.get_text() == "<script>"
    assert not page.find_all("script")
    assert repr(said) == "a <script> b\nx < y & z"


def test_an_interval_stays_on_one_line():
    assert emphasised("by **0.12** [0.05, 0.19] <b>") == "by <b>0.12</b> [0.05,\N{NO-BREAK SPACE}0.19] &lt;b&gt;"


def test_links_lead_within_the_page_or_to_reports_and_nowhere_else():
    assert emphasised("[0.2 [0.1, 0.3]](#figure-a)").startswith('<a href="#figure-a">0.2 [')
    assert emphasised("[x](../../01_tasc/cpu/report.html#claim-1)").startswith('<a href="../../01_tasc/')
    for outside in ("[x](https://a.b)", "[x](javascript:1)", "[0.1, 0.2] (#a)"):
        assert "<a " not in emphasised(outside)
    assert repr(say("**a** [b](#c)")) == "a b"
