"""Loaded by every Python that `nereus measure -- COMMAND` starts, since this folder is first in PYTHONPATH.

Waits until the script imports torch and puts the measurement on it then; the script is not edited and knows nothing. Programs that
do not import torch are left as they are. Another sitecustomize, hidden by this one, is run too.
"""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


class _WhenTorchComes:
    """First in sys.meta_path until torch is found: the real loader loads it, then it is attached to."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_attach(module):
            load(module)
            import nereus_shim
            nereus_shim.attach()

        spec.loader.exec_module = load_and_attach
        return spec


def _run_hidden():
    others = [p for p in sys.path if os.path.abspath(p or ".") != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "NEREUS_SHIM_FOLDER" in os.environ:
    sys.meta_path.insert(0, _WhenTorchComes())
_run_hidden()
