"""The explorer in a real browser: frozen in a page without network, and live in JupyterLab."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing

import numpy as np
import pytest

import attnlib as al
from attnlib.reports import theme
from attnlib.viz import explorer
from attnlib.viz.heatmap import clearest
from tests.browser import browser, needs_browser  # noqa: F401

pytestmark = [needs_browser, pytest.mark.slow]
P = "Number(document.querySelectorAll('.ax-said')[{}].dataset.p)"
SLIDER = ".ax-bar input[type=range]"


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=120, n_dev=20, n_test=6)


@pytest.fixture(scope="module")
def models(corpus):
    return {
        name: al.fit(corpus, al.ModelConfig(embedding_size=16, hidden_size=16, **model), al.TrainConfig(epochs=3))
        for name, model in {"plain": {}, "Lin-TaSc": {"encoder": "mlp", "scaling": "lin"}}.items()
    }


@pytest.fixture(scope="module")
def first(models, corpus):
    """The index of the text that opens, and the text."""
    place = int(clearest(models.values(), corpus.test)[0])
    return place, corpus.test[place]


@pytest.fixture
def page(tmp_path, models, corpus):
    held = explorer.frozen(models, list(corpus.test), ["alpha", "omission"], "attention")
    file = tmp_path / "page.html"
    body = f"<body>{held.html}<script>{theme.explorer_script()}</script></body>"
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    file.write_text(f"<!DOCTYPE html><html><head>{head}</head>{body}</html>", encoding="utf-8")
    return file.as_uri()


def choose(number, value):
    select = f"document.querySelectorAll('.ax-bar select')[{number}]"
    return f"{select}.value = {value!r}; {select}.dispatchEvent(new Event('change'))"


def curve(fitted, example, by, level):
    scores = al.importance(fitted, [example], by)  # what colours a text ranks it, at both levels
    return al.erasure_curves(fitted, [example], scores, level=level)["probability"].to_numpy()


def test_a_frozen_page_shows_the_librarys_numbers(browser, page, models, first):  # noqa: F811
    browser.open(page)
    place, example = first
    number = int(browser.run("document.querySelector('.attnlib-explorer').id.split('-')[1]"))
    for by, level in (("alpha", "attention"), ("omission", "attention"), ("alpha", "input")):
        browser.run(choose(1, by))
        browser.run(choose(2, level))
        browser.run(f"document.querySelector('{SLIDER}').focus()")
        browser.press("Home")
        browser.press("ArrowRight", 3)
        assert browser.run(f"document.querySelector('{SLIDER}').value") == "3"
        for m, fitted in enumerate(models.values()):
            expected = curve(fitted, example, by, level)[3]
            assert browser.run(P.format(m)) == pytest.approx(expected, abs=1e-6), (by, level, m)
    browser.drag(SLIDER, 1.0)
    assert browser.run(f"document.querySelector('{SLIDER}').value") == str(len(example))
    assert browser.run("document.querySelectorAll('.ax-model')[0].querySelectorAll('.ax-gone').length") == len(
        example
    )
    assert f"#explorer-{number}?text={place}&by=alpha&level=input" in browser.run("location.href")
    assert browser.errors == []
    assert browser.requests == [page], "nothing is loaded"


def test_an_address_leads_to_a_text(browser, page, models, corpus):  # noqa: F811
    browser.open(page)
    name = browser.run("document.querySelector('.attnlib-explorer').id")
    browser.open("about:blank")
    browser.open(f"{page}#{name}?text=2&by=omission&level=input&erased=2")
    expected = curve(models["plain"], corpus.test[2], "omission", "input")[2]
    assert browser.run(P.format(0)) == pytest.approx(expected, abs=1e-6)


def test_attention_is_edited_offline(browser, page, models, first):  # noqa: F811
    browser.open(page)
    browser.run("document.querySelector('.ax-check input').click()")
    browser.run("document.querySelectorAll('.ax-model')[1].querySelectorAll('button.ax-token')[4].click()")
    browser.drag("[data-edit='1']", 0.8)
    weight = float(browser.run("document.querySelector('[data-edit=\"1\"]').value"))
    assert 0.7 < weight < 0.9
    fitted = models["Lin-TaSc"]
    trace = next(iter(fitted.traces([first[1]])))[1]
    alpha = trace.alpha[0].double().numpy().copy()
    alpha *= (1 - weight) / (alpha.sum() - alpha[4])
    alpha[4] = weight
    values = (trace.token_logits * trace.scale.unsqueeze(-1))[0].double().detach().numpy()
    z = trace.bias.double().detach().numpy() + alpha @ values
    p = np.exp(z) / np.exp(z).sum()
    assert browser.run(P.format(1)) == pytest.approx(p[int(trace.prediction[0])], abs=1e-6)
    assert browser.errors == []


def test_small_screens_need_no_sideways_scrolling(browser, page):  # noqa: F811
    browser.send("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
    browser.open(page)
    assert browser.run("document.documentElement.scrollWidth") <= 360


NOTEBOOK = """
import attnlib as al
corpus = al.load_corpus("planted", n_train=120, n_dev=20, n_test=6)
fitted = al.fit(corpus, al.ModelConfig(embedding_size=16, hidden_size=16), al.TrainConfig(epochs=3))
al.explore(fitted, corpus.test, by=["alpha", "omission"])
"""


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on a folder with one notebook; its address."""
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("jupyterlab")
    note = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK.strip())])
    note.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(note, tmp_path / "try.ipynb")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "lab")}
    home |= {"JUPYTER_RUNTIME_DIR": str(tmp_path / "run"), "OMP_NUM_THREADS": "1"}
    home["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ATTNLIB_")} | home
    command = [sys.executable, *"-m jupyterlab --no-browser --allow-root --ip=127.0.0.1".split(), f"--port={port}"]
    command += ["--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={tmp_path}"]
    command += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            json.load(urllib.request.urlopen(f"{address}/api/status"))
            break
        except OSError:
            time.sleep(0.2)
    yield address
    process.terminate()
    process.wait(30)


def test_live_in_jupyterlab(browser, lab, corpus):  # noqa: F811
    browser.open(f"{lab}/lab/tree/try.ipynb?reset")
    browser.wait("document.querySelector('.jp-Notebook .jp-CodeCell') && true", 120)
    browser.wait("document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=idle]') && true", 120)
    for _ in range(20):  # keys are lost while the notebook is still being put together
        browser.run("document.querySelector('.jp-CodeCell .cm-content').focus()")
        browser.press("Enter", shift=True)
        browser.run("new Promise((done) => setTimeout(done, 2000))")
        if browser.run("document.querySelector('.jp-InputPrompt').textContent") != "[ ]:":
            break
    browser.wait("document.querySelector('.ax-said') && true", 180)
    fitted = al.fit(corpus, al.ModelConfig(embedding_size=16, hidden_size=16), al.TrainConfig(epochs=3))
    example = corpus.test[clearest([fitted], corpus.test)[0]]
    expected = curve(fitted, example, "alpha", "attention")
    assert browser.run(P.format(0)) == pytest.approx(expected[0], abs=1e-6)
    browser.drag(SLIDER, 0.5)
    k = int(browser.run(f"document.querySelector('{SLIDER}').value"))
    assert 0 < k < len(example)
    assert browser.run(P.format(0)) == pytest.approx(expected[k], abs=1e-6)
    browser.run(choose(2, "input"))
    assert browser.run(P.format(0)) == pytest.approx(curve(fitted, example, "alpha", "input")[k], abs=1e-6)
    browser.run("document.querySelector('.ax-bar input[type=text]').focus()")
    browser.type("a wonderful story")
    browser.press("Enter")
    browser.wait(
        "document.querySelectorAll('.ax-bar select')[0].selectedOptions[0].text === 'a wonderful story'", 60
    )
    expected = fitted.predict(["a wonderful story"]).probabilities.max()
    assert browser.run(P.format(0)) == pytest.approx(expected, abs=1e-6)
