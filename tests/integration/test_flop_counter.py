#!/usr/bin/env python3
"""Operations of every matrix product and convolution, operator by operator, beside torch.utils.flop_counter: models run once under the counter and once
under torch.profiler with shapes, forward and backward. Equal but for what docs/costs.md names: grouped weight gradients, which the counter counts too
often; causal masks, whose half it counts; attention and recurrent layers in one kernel of oneDNN or of the CPU, which it does not know.
Runs under the Python that has torch."""
import json
import pathlib
import subprocess
import sys
import tempfile

from support import common, with_torch

with_torch.enter(__file__)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402
from torch.utils import flop_counter  # noqa: E402

FAMILIES = {"gemm", "convolution", "attention", "recurrent"}
report = common.Report()


# -- the models --

class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y))
        return F.relu(y + (self.shortcut(x) if self.shortcut else x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Attention(nn.Module):
    """Causal attention, then a feed-forward layer."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm = nn.LayerNorm(width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        keys, values = self.kv(x).chunk(2, -1)
        y = F.scaled_dot_product_attention(self.split(self.q(x)), self.split(keys), self.split(values), is_causal=True)
        x = self.norm(x + self.out(y.transpose(1, 2).flatten(2)))
        return x + self.down(F.gelu(self.up(x)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.middle = nn.Conv2d(16, 32, 3, padding=2, dilation=2)
        self.up2, self.up1 = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1)
        self.join2, self.join1 = nn.Conv2d(32, 16, 3, padding=1), nn.Conv2d(16, 3, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        c = F.relu(self.middle(F.max_pool2d(b, 2)))
        b = F.relu(self.join2(torch.cat([self.up2(c), b], 1)))
        return self.join1(torch.cat([self.up1(b), a], 1))


def grouped():
    return nn.Sequential(nn.Conv2d(8, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 16, 3, stride=2, groups=4),
                         nn.ConvTranspose2d(16, 8, 3, stride=2, groups=2), nn.Conv2d(8, 8, 3, padding=1), nn.Flatten(2),
                         nn.Conv1d(8, 4, 5, groups=2), nn.Unflatten(2, (1, 19, 23)), nn.Conv3d(4, 2, (1, 3, 2), groups=2))


# -- both ways of counting --

class Counter(flop_counter.FlopCounterMode):
    """Every counted call in order: name, operations, arguments."""

    def __init__(self):
        super().__init__(display=False)
        self.calls = []

    def _count_flops(self, func_packet, out, args, kwargs):
        if func_packet in self.flop_registry:
            count = self.flop_registry[func_packet](*args, **kwargs, out_val=out)
            self.calls.append((f"aten::{func_packet._qualified_op_name.split('::')[-1]}", count, args))
        return super()._count_flops(func_packet, out, args, kwargs)


def counted(run):
    with Counter() as counter:
        run()
    return counter.calls


def costed(run, folder, *arguments):
    """What the model makes of a trace of the same program: charged operators with products, in order of time."""
    path = pathlib.Path(folder) / "trace.json"
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        run()
    profiler.export_chrome_trace(str(path))
    starts = [event.get("ts") for event in json.loads(path.read_text())["traceEvents"]]
    done = subprocess.run([common.tool("kino_print_costs"), *arguments, path], capture_output=True, text=True, timeout=120, check=True)
    ops = [op for op in map(json.loads, done.stdout.splitlines()) if op.get("family") in FAMILIES]
    return sorted(ops, key=lambda op: starts[op["event"]])


def compare(name, run, folder, want=lambda call: call[1]):
    calls = counted(run)
    for mode, expected in (((), want), (("--flop-counter",), lambda call: call[1])):
        ops = costed(run, folder, *mode)
        report.equal(f"{name} {mode}: operators", [op["name"] for op in ops], [call[0] for call in calls])
        report.equal(f"{name} {mode}: operations", [op["flops"] for op in ops], [expected(call) for call in calls])
        if not mode:
            unknown = {op["name"] for op in ops if op["read"] is None or op["written"] is None}
            report.equal(f"{name}: bytes of all are known", unknown, set())
    report.check(f"{name}: something was counted, forward and backward", len(calls) > 5, len(calls))
    return calls


def training(model, x, **more):
    def run():
        model(x, **more).sum().backward()
    return run


# -- the comparisons --

def check_resnet(folder):
    calls = compare("resnet", training(resnet18(), torch.randn(1, 3, 224, 224, requires_grad=True)), folder)
    path = common.SHARED / "golden/pyprof/torch_flops.json"
    if common.HAS_SHARED and path.exists():
        cases = {case["op"]: case["flops"] for case in json.loads(path.read_text())["cases"]}
        total = next(value for key, value in cases.items() if key.startswith("resnet18 forward+backward"))
        report.equal("resnet18: the recorded total", sum(call[1] for call in calls), total)


def check_transformer(folder):
    run = training(Attention(), torch.randn(2, 24, 32, requires_grad=True))
    with sdpa_kernel(SDPBackend.MATH):  # as products and softmax, which both see
        compare("transformer", run, folder)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # one kernel, which the counter does not know on the CPU
        known = {call[0] for call in counted(run)}
        ops = {op["name"]: op for op in costed(run, folder) if op["family"] == "attention"}
    report.equal("attention on the CPU is not counted", [name for name in known if "attention" in name], [])
    shape = (2, 4, 24, 8)
    forward, backward = flop_counter.sdpa_flop_count(*[shape] * 3), flop_counter.sdpa_backward_flop_count(*[shape] * 4)
    for name, flops in (("aten::_scaled_dot_product_flash_attention_for_cpu", forward),
                        ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", backward)):
        report.check(f"{name} was recorded", name in ops, list(ops))
        report.equal(f"{name}: half of the scores, because of the causal mask", ops.get(name, {}).get("flops"), flops // 2)


def check_lstm(folder):
    model = nn.LSTM(8, 16, num_layers=2)
    x = torch.randn(5, 3, 8, requires_grad=True)
    state = tuple(torch.randn(2, 3, 16, requires_grad=True) for _ in range(2))

    def run():
        model(x, state)[0].sum().backward()
    with torch.backends.mkldnn.flags(enabled=False):
        calls = compare("lstm", run, folder)
    if not torch.backends.mkldnn.is_available():
        return
    fused = [op for op in costed(run, folder) if op["family"] == "recurrent"]
    report.equal("layers of oneDNN are not counted", [call[0] for call in counted(run)], [])
    total = sum(call[1] for call in calls)
    forward = sum(op["flops"] for op in fused if op["direction"] == "forward")
    report.equal("layers of oneDNN cost what their parts do, forward", forward, 2 * 5 * 3 * (64 * 8 + 3 * 64 * 16))
    report.equal("layers of oneDNN cost what their parts do", sum(op["flops"] for op in fused), total)


def without_overcount(call):
    """The counter multiplies all channels with all for the gradient of a grouped weight: `groups` times too much."""
    name, flops, args = call
    if name != "aten::convolution_backward":
        return flops
    gradient, x, weight, groups, mask = args[0], args[1], args[2], args[9], args[10]
    counted_side = x if args[7] else gradient
    one = 2 * weight.numel() * counted_side.shape[0] * counted_side[0, 0].numel()
    return flops - (one * (groups - 1) if mask[1] else 0)


def main():
    if not common.tool("kino_print_costs"):
        common.skip("kino_print_costs is not built: KINO_TOOLS names its folder")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        check_resnet(folder)
        check_transformer(folder)
        check_lstm(folder)
        compare("unet", training(UNet(), torch.randn(2, 3, 16, 16)), folder)
        calls = compare("grouped", training(grouped(), torch.randn(2, 8, 21, 21, requires_grad=True)), folder, without_overcount)
        report.check("grouped: the counter counts too much", any(without_overcount(call) != call[1] for call in calls))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
