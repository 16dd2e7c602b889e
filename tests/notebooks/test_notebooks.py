"""Every notebook of the series keeps to the house rules; a made-up bad one breaks them all. nbval runs them."""

import ast
import re
from pathlib import Path

import nbformat
import papermill
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnlib import studies
from attnlib.reports.parameters import parse_cell
from attnlib.reports.plan import names, profiles, read
from attnlib.studies.study import params_of, planned
from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError

NOTEBOOKS = sorted(paths.notebooks().glob("*.ipynb"))
KEPT = {"keep_output", "nbval-check-output"}
LINES, CODE_IN_A_ROW, OUTPUT = 30, 4, 2000
REPR = re.compile(r"^\w+\(['\"\[{\d]|<[\w.]+ object|\bdtype: |^\w+ {2,}\w+ {2,}", re.MULTILINE)
"""`Corpus('sst', …)`, `<attnlib.X object at …>`, a Series or a frame: not made for a reader."""
MACHINE = re.compile(r"(?<![\w.])/(home|root|work|tmp|Users|mnt)/|[A-Z]:\\\\")


def problems(notebook, name):
    """What is wrong with a notebook, in words."""
    found = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("the kernel must be python3")
    if "papermill" in notebook.metadata or "widgets" in notebook.metadata:
        found.append("metadata of a run or of widgets is stored")
    first = notebook.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        found.append("the first cell must be prose with a title")
    found += _parameters(code)
    found += _prose(notebook.cells)
    for number, cell in enumerate(code, start=1):
        found += [f"code cell {number}: {problem}" for problem in _code(cell)]
    trees = [ast.parse(cell.source) for cell in code if not re.search(r"^\s*[%!]", cell.source, re.MULTILINE)]
    defined = sum(isinstance(node, ast.FunctionDef | ast.ClassDef) for tree in trees for node in ast.walk(tree))
    if defined > 1:
        found.append(f"{defined} functions are defined; what is used twice belongs in the library")
    found += [f"“{told}” labels our data as the paper's" for tree in trees for told in _theirs(tree)]
    last = any(isinstance(node, ast.Assert) for node in ast.walk(trees[-1])) or ".checks()" in code[-1].source
    if not last:
        found.append("the last code cell must check the results")
    source = "\n".join(cell.source for cell in code)
    needed = (f'Output.of("{name}")', "output.claims(")
    if "al.study(" in source:
        needed = (f'al.study("{name[3:]}")', ".run(globals())", ".ledger()")
    return found + [f"`{call}` is missing: a run writes its results" for call in needed if call not in source]


def _theirs(tree):
    """Captions that name a figure or table of the paper without "after", "next to" or "as printed"."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        captions = [part.value for part in call.keywords if part.arg == "caption"]
        if isinstance(call.func, ast.Name) and call.func.id in ("Table", "Figure"):
            captions += call.args[2:3]
        for caption in captions:
            told = "".join(part.value for part in ast.walk(caption) if isinstance(part, ast.Constant))
            if re.search(r"(^|[(:] ?)[Tt]he paper's (Figure|Table|Appendix)(?![^.]*(as printed|prints))", told):
                yield told[:60]


def _parameters(code):
    tagged = [cell for cell in code if "parameters" in cell.metadata.get("tags", ())]
    if len(tagged) != 1:
        return [f"{len(tagged)} cells carry the tag 'parameters'; one must"]
    try:
        parsed = parse_cell(tagged[0].source, "parameters")
    except AttnlibError as error:
        return [str(error)]
    return [f"parameter {name!r} has no comment" for name, value in parsed.items() if not value.comment]


def _prose(cells):
    found, row = [], 0
    for cell in cells:
        row = row + 1 if cell.cell_type == "code" else 0
        if row == CODE_IN_A_ROW + 1:
            found.append(f"more than {CODE_IN_A_ROW} code cells stand in a row without a word")
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    if words < 20 * sum(cell.cell_type == "code" for cell in cells):
        found.append(f"{words} words of prose are too few for the code")
    return found


def _code(cell):
    lines = cell.source.splitlines()
    if len(lines) > LINES and "parameters" not in cell.metadata.get("tags", ()):  # those stand one per line
        yield f"{len(lines)} lines; {LINES} fit a screen"
    if re.search(r"^\s*[%!]", cell.source, re.MULTILINE):
        yield "a magic or shell command"
    if any(line.rstrip().endswith(";") for line in lines):
        yield "a trailing semicolon, which nbval sees; write `_ = ...`"
    if MACHINE.search(cell.source):
        yield "a path of one machine"
    kept = KEPT & set(cell.metadata.get("tags", ()))
    if cell.outputs and kept != KEPT:
        yield "a stored output without the tags keep_output and nbval-check-output"
    if cell.execution_count and not kept:
        yield "a stored execution count"
    if kept:
        if kept != KEPT or not cell.outputs or not cell.execution_count:
            yield "an output to compare needs both tags, an output and its execution count"
        if any(output.output_type != "stream" or len(output.text) > OUTPUT for output in cell.outputs):
            yield "an output to compare must be small plain text"
        if any(REPR.search(output.get("text", "")) for output in cell.outputs):
            yield "an output that is a repr; write what a reader wants to know"


def test_the_series_has_a_way_in_and_every_parameter_file_a_notebook():
    assert names() == [path.stem for path in NOTEBOOKS]
    assert names()[0] == "00_quickstart"
    assert {folder.name for folder in paths.params().iterdir() if folder.is_dir()} <= set(names())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_to_the_rules(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert problems(notebook, path.stem) == []


def test_no_caption_of_a_study_labels_our_data_as_the_papers():
    files = [*Path(studies.__file__).parent.rglob("*.py")]
    assert not [told for file in files for told in _theirs(ast.parse(file.read_text(encoding="utf-8")))]
    assert [*_theirs(ast.parse("Table('t', made, \"The paper's Table 1: texts.\")"))]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_profiles_hold_only_what_differs_and_fit_the_parameters(path):
    known = profiles(path.stem)
    assert {"smoke", "cpu", "paper"} <= set(known)
    for profile, file in known.items():
        (plan,) = planned([path.stem], profile, [])
        stated = {} if file is None else yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        assert set(plan.changed) == set(stated), f"{profile}: a line repeats the notebook's own default"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_papermill_itself_knows_every_parameter(path):
    shown = [name for name, parameter in read(path.stem, params_of).parameters.items() if parameter.shown]
    assert [name for name in papermill.inspect_notebook(path) if name != "options"] == shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_variable_of_a_notebook_is_taken_for_a_parameter(path):
    """`Params.of(globals())` would find it, when the cell is run again."""
    hidden = {name for name, parameter in read(path.stem, params_of).parameters.items() if not parameter.shown}
    code = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    names = [node for source in code for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    assert not hidden & {node.id for node in names if isinstance(node.ctx, ast.Store)}


def test_papermill_alone_cannot_set_a_parameter_that_is_not_there(tmp_path, write_notebook):
    cells = [("code", "limit = 3  # texts", ["parameters"]), ("code", "import attnlib.reports.output as o", [])]
    cells.append(("code", "o.Output.of('90_tiny')\nprint(limit)", []))
    path = write_notebook(tmp_path / "90_tiny.ipynb", cells)
    quiet = {"progress_bar": False, "cwd": tmp_path}
    run = papermill.execute_notebook(path, None, {"limit": 5}, **quiet)
    assert run.cells[-1].outputs[0].text == "5\n"
    with pytest.raises(papermill.PapermillExecutionError, match=r"Unknown parameter 'limt'. Did you"):
        papermill.execute_notebook(path, None, {"limt": 5}, **quiet)


def test_a_bad_notebook_breaks_the_rules():
    kept = {"metadata": {"tags": sorted(KEPT)}, "execution_count": 1}
    bad = new_notebook(metadata={"kernelspec": {"name": "mine", "display_name": "mine"}, "papermill": {}})
    bad.cells = [
        new_code_cell("print()", **kept, outputs=[new_output("stream", text="Corpus('sst', 3 texts)")]),
        new_code_cell('output.figure(f, caption="The paper\'s Figure 1: ours")'),
        new_code_cell("n: int = len('x')", metadata={"tags": ["parameters"]}),
        new_code_cell("\n".join(f"a{i} = {i}" for i in range(LINES + 1))),
        new_code_cell("%matplotlib inline"),
        new_code_cell("x = 1", outputs=[new_output("stream", text="1")], execution_count=3),
        new_code_cell("x", metadata={"tags": ["keep_output"]}),
        new_code_cell("y", **kept, outputs=[new_output("display_data", {"text/html": "h"})]),
        new_code_cell("def f(): ...\ndef g(): ...\nf();\nopen('/home/me/x')"),
        new_markdown_cell("few words"),
    ]
    told = "\n".join(problems(bad, "90_bad"))
    for part in (
        "kernel must be python3", "metadata of a run", "title", "name = literal", "in a row", "too few", "31 lines",
        "a magic", "without the tags", "a stored execution count", "needs both tags", "small plain text",
        "code cell 1: an output that is a repr", "“The paper's Figure 1: ours” labels our data", "2 functions",
        "semicolon", "path of one machine", "must check the results", 'Output.of("90_bad")` is missing',
    ):  # fmt: skip
        assert part in told
