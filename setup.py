"""What pyproject.toml cannot say: the wheel carries the notebooks and their parameters, as `attnlib/series`.

The checkout holds them once, beside the package; `attnlib.utils.paths.notebooks` finds either.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithNotebooks(build_py):
    """Copies the series next to the modules; an editable install reads the checkout's own."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        series = Path(self.build_lib) / "attnlib" / "series"
        shutil.rmtree(series, ignore_errors=True)
        for name in ("notebooks", "params"):
            shutil.copytree(name, series / name, ignore=shutil.ignore_patterns(".*", "__pycache__"))


setup(cmdclass={"build_py": BuildWithNotebooks})
