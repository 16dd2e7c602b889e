"""The papers, one package each; see `attnlib.studies.study` for what a study is and how it is found."""

import os

VARIABLE = "ATTNLIB_STUDIES"
"""Folders with studies of your own, separated as in PATH: searched like this one, also by workers."""

__path__ += [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]
