"""Batches of a torch DataLoader, from where a block wants them: as the script has it, kept at hand, or read anew.

An iterator of a loader that feeds training steps never ends while the job is measured: another epoch begins. In blocks that read,
the loader gets an iterator of its own over the next samples of its sampler, so that what it reads ahead is of the block too.
"""
import torch
from torch.utils.data import DataLoader

AS_IT_IS, AT_HAND, READ = "as it is", "at hand", "read"


def copied(batch):
    """Containers anew, tensors the same: scripts take dictionaries apart."""
    if isinstance(batch, dict):
        same = {key: copied(value) for key, value in batch.items()}
        try:
            return type(batch)(same)
        except TypeError:
            return same
    if isinstance(batch, tuple):
        parts = [copied(value) for value in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    if isinstance(batch, list):
        return [copied(value) for value in batch]
    return batch


def close(iterator):
    if hasattr(iterator, "_shutdown_workers"):
        iterator._shutdown_workers()


class Batches:
    """What `for batch in loader` runs over."""

    def __init__(self, loader, begin, on_batch):
        self.loader = loader
        self.source = AS_IT_IS
        self.feeds_steps = False  # known after the first step
        self.keeps = False
        self.taken = 0
        self._begin, self._on_batch = begin, on_batch
        self._real = begin(loader)
        self._kept, self._next_kept = [], 0
        self._read, self._window = None, []
        self._indices = None

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader)

    def __getattr__(self, name):
        return getattr(self.__dict__["_real"], name)

    def __next__(self):
        self._on_batch(self)
        self.taken += 1
        if self.source == AT_HAND:
            self._next_kept += 1
            return copied(self._kept[(self._next_kept - 1) % len(self._kept)])
        if self.source == READ:
            return next(self._read)
        try:
            batch = next(self._real)
        except StopIteration:
            if not self.feeds_steps:
                raise
            self._real = self._begin(self.loader)
            batch = next(self._real)
        if self.keeps:
            self._kept.append(batch)
            return copied(batch)
        return batch

    def at_hand(self):
        if self._real is not None:
            close(self._real)
            self._real = None
        self._next_kept = 0
        self.source = AT_HAND

    def read_ahead(self):
        """As many batches as it has under way before one is asked for."""
        return self.loader.num_workers * (getattr(self.loader, "prefetch_factor", None) or 0)

    def choose(self, count):
        """The next `count` batches, and as many as are read ahead, are what open() reads."""
        count += self.read_ahead()
        self._window = []
        if self._is_stream():
            self._window = [None] * count
            return
        while len(self._window) < count:
            if self._indices is None:
                self._indices = iter(self.loader._index_sampler)
            try:
                self._window.append(next(self._indices))
            except StopIteration:
                self._indices = None

    def drain(self):
        """Reads the chosen batches once: their files are known then, and in the page cache."""
        self.open()
        for _ in self._window:
            next(self._read, None)
        self.stop()

    def open(self):
        loader, name = self.loader, "batch_sampler" if self.loader._auto_collation else "sampler"
        if self._is_stream():
            self._read = loader._get_iterator()
        else:
            sampler = loader.__dict__[name]
            loader.__dict__[name] = self._window  # its own setter forbids it
            try:
                self._read = loader._get_iterator()
            finally:
                loader.__dict__[name] = sampler
        self.source = READ

    def stop(self):
        if self._read is not None:
            close(self._read)
        self._read = None

    def workers(self):
        return [worker.pid for worker in getattr(self._read, "_workers", [])]

    def _is_stream(self):
        return isinstance(self.loader.dataset, torch.utils.data.IterableDataset)


def attach(is_measured, on_batch):
    """Every loader of this process; `on_batch(batches)` is called before a batch is taken."""
    begin = DataLoader.__iter__

    def batches_of(loader):
        if torch.utils.data.get_worker_info() is not None or not is_measured():
            return begin(loader)
        return Batches(loader, begin, on_batch)

    DataLoader.__iter__ = batches_of
