"""Hands models of your own to nereus: a folder of TorchScript modules and what each costs.

    from nereus_export import export, tensors
    export("mine", [("stem", nn.Linear(8, 32), ["input"]),
                    ("body", Residual(32), ["stem"]),
                    ("head", Join(32, 4), ["stem", "body"])],
           example_input, example_target, loss="cross_entropy")
    tensors("train.safetensors", inputs, targets)        # what to train on, where it is neither tokens nor pictures

Layers are listed in the order they run; each names what it reads, in the order of its arguments, and the first alone reads
"input". All dims 0 are samples, and a sample's values must not depend on the others. Starting values are the modules' own.

The loss is called with the last layer's output and the targets and gives one number for each sample, [n]. Named ones are means
over what a sample has: "cross_entropy" (of logits [n, classes], or [n, .., classes] for targets [n, ..]) and "mse". The loss of
a step is the mean over its samples.
Needs torch 1.13 or later and nothing else.
"""
import ctypes
import hashlib
import json
import os
import re
import struct
import sys

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


class CrossEntropy(nn.Module):
    def forward(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        each = nn.functional.cross_entropy(output.reshape(-1, output.size(-1)), target.reshape(-1), reduction="none")
        return each.reshape(target.size(0), -1).mean(1)


class SquaredError(nn.Module):
    def forward(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (output - target).pow(2).reshape(target.size(0), -1).mean(1)


LOSSES = {"cross_entropy": CrossEntropy, "mse": SquaredError}
# Where the two factors of a product stand among an operator's arguments.
PRODUCTS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2)}


def storage_of(t):
    return (t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage()).data_ptr()


class Watch(TorchDispatchMode):
    """Every operator that runs: products by their dims, all others by the elements they read and write."""

    def __init__(self):
        super().__init__()
        self.products, self.read, self.written, self.kernels = [], 0, 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = str(func).split(".")[1]
        if name in PRODUCTS:
            a, b = (args[i] for i in PRODUCTS[name])
            self.products.append((a.numel() / a.size(-1), b.size(-1), a.size(-1)))
        elif name == "convolution":
            over, weight = args[0] if args[6] else out, args[1]  # args[6]: transposed
            self.products.append((over.numel() / over.size(1), weight.size(0), weight.numel() / weight.size(0)))
        elif name.startswith("_scaled_dot_product"):
            q, k, v = args[:3]
            rows = q.numel() / q.size(-1)
            self.products += [(rows, k.size(-2), q.size(-1)), (rows, v.size(-1), k.size(-2))]
        else:
            inputs = [a for a in args if isinstance(a, torch.Tensor)]
            outputs = [o for o in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(o, torch.Tensor)]
            known = {storage_of(a) for a in inputs}
            if name.endswith("_") or any(storage_of(o) not in known for o in outputs):  # else a view
                self.read += sum(a.numel() for a in inputs)
                self.written += sum(o.numel() for o in outputs)
                self.kernels += 1
        return out


def agree(a, b, args):
    """Whether two modules give the same, for all samples and for the first alone."""
    pairs = [(a(*some), b(*some)) for some in (args, [x[:1] for x in args])]
    return all(x.shape == y.shape and torch.allclose(x, y, rtol=1e-3, atol=1e-5) for x, y in pairs)


def measure(call, parameters, num_samples):
    own = {storage_of(p) for p in parameters}
    kept = {}

    def pack(t):
        if storage_of(t) not in own:
            kept[(storage_of(t), t.numel())] = t  # held, so that no other takes its place
        return t

    with Watch() as watch, torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        call()
    wide = sum(t.numel() for t in kept.values() if t.is_floating_point())
    other = sum(t.numel() * t.element_size() for t in kept.values() if not t.is_floating_point())
    return {"products": [{"rows": r / num_samples, "n": n, "k": k} for r, n, k in watch.products],
            "read_elements": watch.read / num_samples, "written_elements": watch.written / num_samples,
            "kernels": watch.kernels, "saved_elements": wide / num_samples, "saved_bytes": other / num_samples}


def faults_of(name, module, args):
    """Why a module cannot be trained by others than its own process, in words."""
    faults, seen = [], {}
    for path, part in module.named_modules():
        for key, parameter in part._parameters.items():
            if parameter is None:
                continue
            full = f"{path}.{key}".lstrip(".")
            if id(parameter) in seen:
                faults.append(f"{full} and {seen[id(parameter)]} are one parameter: tied weights are not supported")
            if not parameter.requires_grad:
                faults.append(f"{full} is frozen: make it a buffer (register_buffer)")
            seen[id(parameter)] = full
        if "Dropout" in type(part).__name__ and getattr(part, "p", 0) > 0:
            faults.append(f"{path or name} drops values (p = {part.p}): set p = 0")
    before = {k: b.clone() for k, b in module.named_buffers()}
    with torch.no_grad():
        whole, again = module(*args), module(*args)
        changed = [k for k, b in module.named_buffers() if not torch.equal(b, before[k])]
        if changed:
            faults.append(f"buffers change as it runs ({', '.join(changed)}): BatchNorm's statistics are not supported; "
                          "GroupNorm has none")
        elif not isinstance(whole, torch.Tensor) or not whole.is_floating_point():
            faults.append("it must give one floating-point tensor")
        elif not torch.equal(whole, again):
            faults.append("two runs on the same input differ: random operators are not supported")
        elif whole.dim() == 0 or not agree(module, lambda *some: whole[:len(some[0])], args):
            faults.append("the first sample alone gives another output than among others: dim 0 must be the samples")
    return [f"{name}: {fault}" for fault in faults]


def save_module(name, module, args, path):
    """Scripted where TorchScript can, else traced; whichever it is must agree, also for one sample."""
    how = "scripted"
    try:
        made = torch.jit.script(module)
    except Exception as error:  # what TorchScript cannot read has many types
        print(f"{name}: traced ({str(error).strip().splitlines()[0][:100]})", file=sys.stderr)
        how, made = "traced", torch.jit.trace(module, tuple(args))
    made.save(path)
    made = torch.jit.load(path)
    with torch.no_grad():
        if not agree(made, module, args):
            raise ValueError(f"{name}: the {how} module computes something else")
    with open(path, "rb") as file:
        return how, hashlib.sha256(file.read()).hexdigest()


def graph_faults(layers):
    faults, known, read = [], [], set()
    for i, (name, _, inputs) in enumerate(layers):
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name) or name in known + ["input", "loss"]:
            faults.append(f"{name!r}: names are letters, digits, _ and -, each once; input and loss are taken")
        if (inputs == ["input"]) != (i == 0):
            faults.append(f"{name}: the first layer reads [\"input\"] and no other does; it may be nn.Identity()")
        faults += [f"{name}: {x!r} is no layer before it" for x in inputs if i > 0 and x not in known]
        known.append(name)
        read.update(inputs)
    return faults + [f"{name}: nothing reads it" for name in known[:-1] if name not in read]


def raise_if(faults):
    if faults:
        raise ValueError("\n".join(faults))


def export(folder, layers, example_input, example_target, loss="cross_entropy", name=None):
    layers = [(n, module.train(), list(inputs)) for n, module, inputs in layers]
    raise_if(graph_faults(layers))
    faults, loss = [], LOSSES[loss]() if isinstance(loss, str) else loss
    os.makedirs(folder, exist_ok=True)
    samples, values, described, owners = example_input.size(0), {"input": example_input}, [], {}
    for n, module, inputs in layers:
        args = [values[x] for x in inputs]
        faults += faults_of(n, module, args)
        for key, parameter in module.named_parameters():
            if owners.setdefault(id(parameter), n) != n:
                faults.append(f"{n}.{key} is {owners[id(parameter)]}'s too: tied weights are not supported")
        values[n] = module(*args).detach()
    last, module, inputs = layers[-1]
    each = loss(values[last], example_target)
    if list(each.shape) != [samples] or list(loss.parameters()):
        faults.append(f"the loss must give one number for each sample, [{samples}], not {list(each.shape)}, and learn nothing")
    raise_if(faults)
    for n, module, inputs in layers:
        args = [values[x].detach().requires_grad_(values[x].is_floating_point() and x != "input") for x in inputs]
        run = (lambda: loss(module(*args), example_target)) if n == last else (lambda: module(*args))
        costs = measure(run, module.parameters(), samples)
        how, digest = save_module(n, module, args, os.path.join(folder, n + ".pt"))
        described.append({"name": n, "inputs": [] if inputs == ["input"] else inputs, "made": how, "sha256": digest,
                          "parameters": [{"name": k, "shape": list(p.shape)} for k, p in module.named_parameters()],
                          "output": list(values[n].shape[1:]), **costs})
    _, digest = save_module("loss", loss, [values[last], example_target], os.path.join(folder, "loss.pt"))
    about = [{"shape": list(t.shape[1:]), "integer": not t.is_floating_point()} for t in (example_input, example_target)]
    tables = [m.num_embeddings for m in layers[0][1].modules() if isinstance(m, nn.Embedding)]
    written = {"nereus_export": 1, "name": name or os.path.basename(os.path.abspath(folder)), "torch": torch.__version__,
               "input": {**about[0], "vocabulary": tables[0] if tables else 0}, "target": about[1], "loss_sha256": digest}
    lines = [json.dumps(layer) for layer in described]
    written["id"] = hashlib.sha256("\n".join([json.dumps(written), *lines]).encode()).hexdigest()
    with open(os.path.join(folder, "model.json"), "w") as file:
        file.write(json.dumps(written)[:-1] + ', "layers": [\n ' + ",\n ".join(lines) + "]}\n")
    return {**written, "layers": described}


def tensors(path, inputs, targets):
    """A safetensors file of samples for `nereus train --data`."""
    dtypes = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
    header, data = {}, b""
    for key, t in (("inputs", inputs.contiguous()), ("targets", targets.contiguous())):
        raw = ctypes.string_at(t.data_ptr(), t.numel() * t.element_size())
        header[key] = {"dtype": dtypes[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
