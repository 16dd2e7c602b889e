"""Bars: seen by those who watch, silent in batch runs and for short loops."""

import pytest

from attnlib.utils import progress


def test_without_the_switch_a_pipe_gets_no_bar(monkeypatch):
    monkeypatch.delenv(progress.SWITCH, raising=False)
    assert not progress.visible()


@pytest.mark.parametrize(("setting", "delay", "shown"), [("1", 0.0, True), ("1", 60.0, False), ("off", 0.0, False)])
def test_a_loop_gives_its_items_and_shows_its_label(monkeypatch, capsys, setting, delay, shown):
    monkeypatch.setenv(progress.SWITCH, setting)
    monkeypatch.setattr(progress, "DELAY", delay)
    assert list(progress.progress(range(5), "counting")) == [0, 1, 2, 3, 4]
    captured = capsys.readouterr()
    assert ("counting" in captured.err) is shown
    assert captured.out == ""


def test_in_a_notebook_the_bar_goes_to_standard_output(monkeypatch, capsys):
    monkeypatch.setenv(progress.SWITCH, "1")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    with progress.bar("download", total=10, unit="B") as line:
        line.update(10)
    captured = capsys.readouterr()
    assert "download" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(("delay", "drawn"), [(60.0, False), (0.0, True)])
def test_a_postfix_leaves_no_dead_bar(monkeypatch, capsys, delay, drawn):
    monkeypatch.setenv(progress.SWITCH, "1")
    monkeypatch.setattr(progress, "DELAY", delay)
    with progress.bar("erasing", total=10) as line:
        line.set_postfix_str("4 texts at a time")  # draws at once, and no update follows
    said = capsys.readouterr().err
    assert ("erasing" in said) is drawn
    assert said.rpartition("\r")[0].rpartition("\r")[2].strip() == "", "what was drawn is cleared"


def test_a_bar_inside_another_is_silent(monkeypatch, capsys):
    monkeypatch.setenv(progress.SWITCH, "1")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    for _ in progress.progress(range(3), "outer"):
        with progress.bar("inner", total=2) as line:
            line.set_postfix_str("shown at once", refresh=True)
            line.update(2)
    said = capsys.readouterr().err
    assert "outer" in said
    assert "inner" not in said
    assert "shown at once" not in said


def test_a_loop_that_broke_off_leaves_room_for_the_next_bar(monkeypatch, capsys):
    monkeypatch.setenv(progress.SWITCH, "1")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with pytest.raises(ValueError, match="lost"), progress.bar("first", total=2):
        raise ValueError("lost")
    with progress.bar("second", total=2) as line:
        line.update(2)
    assert "second" in capsys.readouterr().err
