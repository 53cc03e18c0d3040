"""What `nereus measure -- COMMAND` puts on PyTorch: where steps end, where batches come from, who talks.

A step ends when the script's optimizer has made its step (the first that makes one, where there are several). Then
nereus_blocks.Blocks goes on: it lets the script run step after step, in blocks that differ in one thing, and ends the process when it
has measured enough. The learning rate is 0 in every step and torch.save writes nothing, so that weights stay what they are although
gradients are not summed in some blocks, and no checkpoint is overwritten.
"""
import functools
import os
import sys
import threading

import torch
import torch.distributed as dist

import nereus_batches
from nereus_blocks import Blocks
from nereus_files import Files
from nereus_talk import Talk


class Shim:
    def __init__(self):
        self.folder = os.environ["NEREUS_SHIM_FOLDER"]
        self.seconds = float(os.environ.get("NEREUS_SHIM_SECONDS", "60"))
        self.rounds = int(os.environ.get("NEREUS_SHIM_ROUNDS", "6"))
        self.process = os.getpid()
        self.files = Files(self.folder)
        self.talk = Talk()
        self.loaders = []     # Batches that feed steps
        self.parameters = 0   # of all optimizers
        self._flow = None     # the measurement, once a step was made
        self._optimizer = None
        self._within_step = 0
        self._recent = []     # Batches of the first step

    def attach(self):
        if dist.is_available():
            self.talk.attach()
        nereus_batches.attach(lambda: os.getpid() == self.process, self._on_batch)
        self._attach_optimizers()
        save = torch.save

        @functools.wraps(save)
        def save_nothing(*arguments, **words):
            if self._flow is None or os.getpid() != self.process:
                save(*arguments, **words)

        torch.save = save_nothing
        open(os.path.join(self.folder, f"attached-{os.getpid()}"), "w").close()

    def say(self, text):
        sys.stderr.write(f"nereus: {text}\n")
        sys.stderr.flush()

    def _on_batch(self, batches):
        if self._flow is None and batches not in self._recent:
            self._recent.append(batches)

    def _attach_optimizers(self):
        shim, begin = self, torch.optim.Optimizer.__init__

        @functools.wraps(begin)
        def begin_and_wrap(optimizer, *arguments, **words):
            begin(optimizer, *arguments, **words)
            shim._wrap_step(type(optimizer))

        torch.optim.Optimizer.__init__ = begin_and_wrap

    def _wrap_step(self, kind):
        step = kind.step
        if getattr(step, "_nereus", False):
            return

        @functools.wraps(step)
        def step_and_mark(optimizer, *arguments, **words):
            if os.getpid() != self.process or threading.current_thread() is not threading.main_thread():
                return step(optimizer, *arguments, **words)
            rates = [group.get("lr") for group in optimizer.param_groups]
            for group, rate in zip(optimizer.param_groups, rates):
                if rate is not None:
                    group["lr"] = rate * 0
            self._within_step += 1  # optimizers that hold others call their steps
            try:
                result = step(optimizer, *arguments, **words)
            finally:
                self._within_step -= 1
                for group, rate in zip(optimizer.param_groups, rates):
                    if rate is not None:
                        group["lr"] = rate
            if self._within_step == 0:
                self._mark(optimizer)
            return result

        step_and_mark._nereus = True
        kind.step = step_and_mark

    def _mark(self, optimizer):
        if self._optimizer is None:
            self._optimizer = optimizer
            self.loaders = self._recent
            for batches in self.loaders:
                batches.feeds_steps = True
            self.parameters = sum(p.numel() for group in optimizer.param_groups for p in group["params"])
            self._flow = Blocks(self).run()
        if optimizer is not self._optimizer:
            return
        try:
            next(self._flow)
        except StopIteration:
            self._end()

    def _end(self):
        """At once: what the script does at its end, it would do with weights that nothing was learned by."""
        for batches in self.loaders:
            batches.stop()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def attach():
    Shim().attach()
