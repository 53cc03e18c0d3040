"""What the scripts of this folder share: a program in the worker's place where there is no GPU, and the worker where there is one.

  python3 bench/gpu/worker.py NEREUS BODY    makes such a program, and prints where it is (for bench/gpu/prepare)
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

WORKER = "build/worker/nereus-worker"


def said_by(*command):
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def build_of(nereus):
    """As both programs write it, who refuse each other where it differs."""
    version = said_by(nereus, "version", "--format", "json")
    return f"{version['version']} {version['commit']}"


def make_stand_in(build, body):
    """The path of a program that says it has a GPU, and does `body`, of the shell, with the file it is handed as $2."""
    known = json.dumps({"build": build, "library": "libtorch", "num_gpus": 1, "backends": "nccl shared"})
    with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as program:
        program.write(f"#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{known}'; exit 0; fi\n{body}\n")
    os.chmod(program.name, 0o755)
    return program.name


@contextlib.contextmanager
def stand_in(build, body):
    """The same, gone afterwards."""
    path = make_stand_in(build, body)
    try:
        yield path
    finally:
        os.remove(path)


def own_build():
    """Of the worker beside us."""
    return said_by(WORKER, "--version")["build"]


def rank_call(kind, path, port, rank=0, num_ranks=1):
    """What subprocess starts as that rank of a job (kind --job or --measure) that shares this machine's GPU."""
    place = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(num_ranks), LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    return {"args": [WORKER, kind, path, "--rank", str(rank), "--report-fd", "1"], "env": place}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(make_stand_in(build_of(sys.argv[1]), sys.argv[2]))
