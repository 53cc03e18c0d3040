"""Talk of ranks that can be taken away, so that the same step runs with and without it.

    talk.reach = talk.NONE      sums are each rank's own, what others would say is zero; nobody is waited for
    talk.reach = talk.HOST      sums among ranks of one host; the rest as NONE
    talk.reach = talk.ALL       as the script has it

DistributedDataParallel sums in C++: a communication hook takes the place of its all-reduce, which else does the same
(https://pytorch.org/docs/stable/ddp_comm_hooks.html), so that buckets are filled and emptied whoever talks. Where it looks for unused
parameters it talks beside the hook too, and synchronising is put off instead. Collectives that scripts call themselves are wrapped
functions. Those that cannot be left out are in `unswitchable` once they were called.
"""
import functools
import os
import time

import torch
import torch.distributed as dist

NONE, HOST, ALL = "none", "host", "all"


class _Done:
    """The handle of something that was not done."""

    def __init__(self, tensors):
        self._tensors = tensors

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def get_future(self):
        future = torch.futures.Future()
        future.set_result(self._tensors)
        return future


def _stay(tensor, *_, **__):
    return [tensor]


def _gathered(outputs, tensor, *_, **__):
    for output in outputs:
        output.zero_()
    outputs[0].copy_(tensor)
    return outputs


def _gathered_flat(output, tensor, *_, **__):
    output.zero_()
    output.view(-1)[:tensor.numel()].copy_(tensor.reshape(-1))
    return [output]


def _scattered(output, inputs, *_, **__):
    output.copy_(inputs[0])
    return [output]


def _scattered_flat(output, tensor, *_, **__):
    output.view(-1).copy_(tensor.reshape(-1)[:output.numel()])
    return [output]


def _nothing(*_, **__):
    return []


_ALONE = {
    "all_reduce": _stay, "broadcast": _stay, "reduce": _stay, "barrier": _nothing, "all_gather": _gathered,
    "all_gather_into_tensor": _gathered_flat, "_all_gather_base": _gathered_flat, "reduce_scatter": _scattered,
    "reduce_scatter_tensor": _scattered_flat, "_reduce_scatter_base": _scattered_flat,
}
_UNSWITCHABLE = (
    "send", "recv", "isend", "irecv", "batch_isend_irecv", "gather", "scatter", "all_to_all", "all_to_all_single", "all_gather_object",
    "gather_object", "broadcast_object_list", "scatter_object_list", "all_reduce_coalesced", "all_gather_coalesced", "monitored_barrier",
)


def _of_all_ranks(name, arguments, words):
    """A sum or a barrier that names no group: group is the third of all_reduce's arguments and the first of barrier's."""
    before = {"all_reduce": 2, "barrier": 0}.get(name, -1)
    return len(arguments) <= before and words.get("group") is None


class _First:
    """The first of a collective's tensors, taken on the thread of the collective when it is done."""
    under_way = 0

    def __init__(self):
        _First.under_way += 1

    def __call__(self, done):
        return done.value()[0]

    def __del__(self):
        _First.under_way -= 1


def settle(threads=None):
    """Before this process forks a loader's workers: in Python 3.11 the child waits for ever where another thread was just about to
    leave Python, or to enter it (_PyThreadState_DeleteExcept takes a lock before it is made anew). So callbacks of collectives must be
    over, and threads that fed a loader's workers be gone: no more than `threads` are left."""
    until = time.monotonic() + 10
    while time.monotonic() < until and (_First.under_way > 0 or (threads is not None and num_threads() > threads)):
        time.sleep(0.001)
    time.sleep(0.01)


def num_threads():
    return len(os.listdir("/proc/self/task"))


class Talk:
    def __init__(self):
        self.reach = ALL
        self.host_group = None
        self.unswitchable = set()
        self._real = {}
        self._wrappers = []  # DistributedDataParallel's that look for unused parameters

    def attach(self):
        from torch.distributed import distributed_c10d as c10d
        for name in (*_ALONE, *_UNSWITCHABLE):
            if hasattr(c10d, name):
                self._real[name] = getattr(c10d, name)
                wrapped = self._switched(name) if name in _ALONE else self._watched(name)
                for module in (c10d, dist):
                    if hasattr(module, name):
                        setattr(module, name, wrapped)
        if hasattr(dist, "_broadcast_coalesced"):  # buffers, before a forward pass
            coalesced = dist._broadcast_coalesced
            dist._broadcast_coalesced = lambda *a, **k: coalesced(*a, **k) if self.reach == ALL else None
        self._attach_wrapper()

    def real(self, name):
        return self._real[name]

    def set_reach(self, reach):
        self.reach = reach
        for module in self._wrappers:
            module.require_backward_grad_sync = reach == ALL

    def _switched(self, name):
        real, alone = self._real[name], _ALONE[name]

        @functools.wraps(real)
        def collective(*arguments, **words):
            if self.reach == ALL:
                return real(*arguments, **words)
            if self.reach == HOST and _of_all_ranks(name, arguments, words):
                return real(*arguments, **dict(words, group=self.host_group))
            tensors = alone(*arguments, **words)
            return _Done(tensors) if words.get("async_op") else None

        return collective

    def _watched(self, name):
        real = self._real[name]

        @functools.wraps(real)
        def collective(*arguments, **words):
            self.unswitchable.add(name)
            if self.reach != ALL:
                raise RuntimeError(f"nereus measure: torch.distributed.{name} is called in some steps and not in others; "
                                   "it cannot be left out of a step")
            return real(*arguments, **words)

        return collective

    def _attach_wrapper(self):
        from torch.nn.parallel import DistributedDataParallel as Wrapper
        talk, begin, register = self, Wrapper.__init__, Wrapper.register_comm_hook

        @functools.wraps(begin)
        def begin_with_hook(module, *arguments, **words):
            begin(module, *arguments, **words)
            if module.find_unused_parameters:
                talk._wrappers.append(module)
                return
            module._nereus_hook = None
            register(module, module, talk._sum_of_bucket)

        def keep_hook(module, state, hook):
            if module.find_unused_parameters:
                return register(module, state, hook)
            module._check_comm_hook(hook)
            module._nereus_hook = (state, hook)

        def keep_builtin_hook(module, kind):
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
            half = kind == dist.BuiltinCommHookType.FP16_COMPRESS
            keep_hook(module, module.process_group, default_hooks.fp16_compress_hook if half else default_hooks.allreduce_hook)

        Wrapper.__init__ = begin_with_hook
        Wrapper.register_comm_hook = keep_hook
        Wrapper._register_builtin_comm_hook = keep_builtin_hook

    def _sum_of_bucket(self, module, bucket):
        if self.reach == ALL and module._nereus_hook is not None:
            state, hook = module._nereus_hook
            return hook(state, bucket)
        buffer = bucket.buffer()
        group = module.process_group if self.reach == ALL else self.host_group
        buffer.div_(module.process_group.size())
        if self.reach == NONE:
            future = torch.futures.Future()
            future.set_result(buffer)
            return future
        work = self._real["all_reduce"](buffer, group=group, async_op=True)
        return work.get_future().then(_First())
