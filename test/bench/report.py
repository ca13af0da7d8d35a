"""Tables of models.py's results, in Markdown, and the ratios that are promised."""
import math
import os
import re
import sys

BEGIN, END = "<!-- models: begin -->", "<!-- models: end -->"


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


class Results:
    def __init__(self, results):
        self.r = results

    def time(self, model, threads, system, what="min"):
        by_threads = self.r["models"].get(model, {})
        found = by_threads.get(threads, {}).get("systems", {}).get(system)
        return found[what] if found else None

    def ratio(self, model, threads, over, under):
        a, b = self.time(model, threads, over), self.time(model, threads, under)
        return a / b if a and b else None

    def has(self, system):
        return any(system in t["systems"] for m in self.r["models"].values() for t in m.values())

    def threads(self):
        return sorted({t for m in self.r["models"].values() for t in m}, key=int)

    def models(self, quantised):
        return [m for m in self.r["models"] if m.endswith("_int8") == quantised]


# What is promised: (text, models or None for all float ones, slower system, faster system, sign, limit).
# The ratio is slower / faster.
SPEED = [
    ("bycc f32 / floor f32 ≤ 1.05", None, "bycc f32", "floor f32", "<=", 1.05),
    ("ORT f32 / bycc f32 ≥ 0.93", None, "ORT f32", "bycc f32", ">=", 0.93),
    ("ORT f32 / bycc f32 ≥ 1.7", ["bert_tiny"], "ORT f32", "bycc f32", ">=", 1.7),
    ("ORT f32 / bycc f32 ≥ 1.3", ["mlp"], "ORT f32", "bycc f32", ">=", 1.3),
    ("bycc bf16 / floor bf16 ≤ 1.10", None, "bycc bf16", "floor bf16", "<=", 1.10),
    ("ORT f32 / bycc bf16 ≥ 4", ["resnet50", "bert_base"], "ORT f32", "bycc bf16", ">=", 4),
    ("ORT f32 / bycc bf16 ≥ 5", ["resnet50_b16"], "ORT f32", "bycc bf16", ">=", 5),
    ("ORT f32 / bycc bf16 ≥ 1.9", ["mobilenet_v2"], "ORT f32", "bycc bf16", ">=", 1.9),
    ("OpenVINO default / bycc bf16 ≥ 1", None, "OpenVINO default", "bycc bf16", ">=", 1.0),
    ("ORT int8 / bycc int8 ≥ 2.2", ["resnet50_int8"], "ORT int8", "bycc int8", ">=", 2.2),
    ("ORT int8 / bycc int8 ≥ 1.8", ["mobilenet_v2_int8"], "ORT int8", "bycc int8", ">=", 1.8),
    ("ORT int8 / bycc int8 ≥ 5", ["bert_base_int8"], "ORT int8", "bycc int8", ">=", 5),
]
GEOMEAN = ("geomean ORT f32 / bycc f32 ≥ 1.08", "ORT f32", "bycc f32", 1.08)
OVERHEAD_MODEL, OVERHEAD_US = "mlp", 2  # one region of three primitives
COLD = {"mobilenet_v2": 30, "resnet50": 55, "bert_base": 150}  # ms, in bf16


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def ms(value):
    if value is None:
        return ""
    return f"{value:.4f}" if value < 1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def times_table(res, systems, quantised):
    rows = []
    for model in res.models(quantised):
        for threads in res.threads():
            one = res.r["models"][model].get(threads)
            if not one:
                continue
            row = [model, threads]
            for system in systems:
                best, quartile = res.time(model, threads, system), res.time(model, threads, system, "p25")
                spread = res.time(model, threads, system, "spread")
                row.append("" if best is None else f"{ms(best)} ({ms(quartile)}, {100 * spread:.0f} %)")
            rows.append(row + [f"{one['valid']} ({one['void']})"])
    return table(["model", "threads"] + systems + ["rounds (void)"], rows)


def ratio_table(res, pairs, quantised):
    rows = []
    for model in res.models(quantised):
        for threads in res.threads():
            rows.append([model, threads] + [number(res.ratio(model, threads, a, b)) for a, b in pairs])
    for threads in res.threads():
        columns = [[res.ratio(m, threads, a, b) for m in res.models(quantised)] for a, b in pairs]
        rows.append(["geomean", threads] + [number(geomean([v for v in c if v])) for c in columns])
    return table(["model", "threads"] + [f"{a} / {b}" for a, b in pairs], rows)


def reachable(res, model, threads, a, b):
    """What the bare primitives would reach: more than this the library has not on this CPU."""
    bound = res.ratio(model, threads, a, b.replace("bycc", "floor")) if b.startswith("bycc") else None
    return f" ({bound:.2f})" if bound else ""


def speed_limits(res):
    rows = []
    for text, models, a, b, sign, limit in SPEED:
        for model in models or res.models(False):
            cells, holds = [], []
            for threads in res.threads():
                value = res.ratio(model, threads, a, b)
                cells.append(number(value) + reachable(res, model, threads, a, b))
                holds.append(value is not None and (value <= limit if sign == "<=" else value >= limit))
            if any(cells):
                rows.append([text, model] + cells + ["yes" if all(holds) else "**no**"])
    for kind in ("f32", "bf16"):
        times = [(res.time(OVERHEAD_MODEL, t, "bycc " + kind), res.time(OVERHEAD_MODEL, t, "floor " + kind))
                 for t in res.threads()]
        if all(None not in pair for pair in times) and times:
            above = [1000 * (a - b) for a, b in times]
            rows.append([f"bycc {kind} - floor {kind} ≤ {OVERHEAD_US} µs for a call", OVERHEAD_MODEL]
                        + [f"{us:.1f} µs" for us in above] + ["yes" if max(above) <= OVERHEAD_US else "**no**"])
    text, a, b, limit = GEOMEAN
    values = []
    for threads in res.threads():
        ratios = [res.ratio(m, threads, a, b) for m in res.models(False)]
        values.append(geomean([v for v in ratios if v]))
    if any(values):
        rows.append([text, "all float"] + [number(v) for v in values]
                    + ["yes" if all(v and v >= limit for v in values) else "**no**"])
    return table(["limit", "model"] + [f"{t} thread{'s' if t != '1' else ''}" for t in res.threads()] + ["holds"], rows)


def process_table(res):
    """Cold starts and peak memory; the limits are on bf16's start and on memory against ONNX Runtime."""
    rows = []
    for model, cold in res.r["cold"].items():
        kinds = ["int8"] if model.endswith("_int8") else ["f32", "bf16"]
        ort = cold.get("ORT " + kinds[0])
        for kind in kinds:
            bycc, floor = cold.get("bycc " + kind), cold.get("floor " + kind)
            if bycc is None:
                continue
            limit = COLD.get(model) if kind == "bf16" else None
            start = "" if limit is None else f"{'yes' if bycc['ms'] <= limit else '**no**'} (≤ {limit})"
            peaks = [peak_of(res, model, "bycc " + kind, bycc), peak_of(res, model, "ORT " + kinds[0], ort)]
            memory = "" if None in peaks else "yes" if peaks[0] <= peaks[1] else "**no**"
            rows.append([model, kind, number(bycc["ms"], 0), number(ort and ort["ms"], 0),
                         number(floor and floor["ms"], 0), start, number(peaks[0], 0), number(peaks[1], 0), memory])
    return table(["model", "bycc as", "start: bycc ms", "ORT ms", "floor ms", "holds", "peak: bycc MB", "ORT MB",
                  "holds"], rows)


def before_table(res):
    """The other build's times over those of this one: below 1 is slower than before."""
    rows = []
    for model in res.r["models"]:
        for kind in ("f32", "bf16", "int8"):
            now, before = "bycc " + kind, "before " + kind
            ratios = [res.ratio(model, t, before, now) for t in res.threads()]
            cold = res.r["cold"].get(model, {})
            starts = [cold[system]["ms"] if system in cold else None for system in (before, now)]
            if any(ratios):
                rows.append([model, kind] + [number(r, 3) for r in ratios]
                            + [number(s, 1) for s in starts] + [number(starts[0] / starts[1] if all(starts) else None)])
    heads = [f"{t} thread{'s' if t != '1' else ''}" for t in res.threads()]
    return table(["model", "as"] + heads + ["start: before ms", "now ms", "before / now"], rows)


def peak_of(res, model, system, cold):
    """Of all processes of a system: the most that any took."""
    peaks = [res.time(model, t, system, "peak") for t in res.threads()] + [cold["peak"] if cold else None]
    return max((p for p in peaks if p is not None), default=None)


def agreement_table(res):
    rows = []
    for model, by_system in res.r["agrees"].items():
        for system, one in by_system.items():
            note = res.r["notes"].get(model, {}).get(system, " | ").split(" | ", 1)
            cosine = "" if one["cosine"] is None else f"{one['cosine']:.6f}"
            rows.append([model, system, "yes" if one["agrees"] else "**NO**", cosine] + note)
    return table(["model", "system", "agrees", "cosine", "compiled in", "offload"], rows)


def gaps(res):
    lines = [f"- {system} ({model}): {reason}" for model, system, reason in res.r["gaps"]]
    return "\nNot measured:\n\n" + "\n".join(lines) + "\n" if lines else ""


def machine():
    cpu, flags = "unknown CPU", ""
    if os.path.exists("/proc/cpuinfo"):
        text = open("/proc/cpuinfo").read()
        cpu = re.search(r"model name\s*: (.*)", text).group(1)
        flags = " ".join(f for f in ("avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
                         if re.search(rf"\b{f}\b", text))
    return f"{cpu}, {len(os.sched_getaffinity(0))} CPUs, {flags}"


def markdown(results):
    res = Results(results)
    parts = [f"{machine()}. {results['rounds']} rounds, {results['minutes']:.0f} minutes; the control took "
             + ", ".join(f"{v:.3f} ms with {t} thread(s)" for t, v in results["control_ms"].items()) + "."]
    if res.models(False) or res.models(True):
        parts += ["### Limits", "Ratios of minima; in brackets the ratio that the bare primitives themselves reach on "
                  "this CPU (those for bf16 and int8 were set on one with AMX).", speed_limits(res)]
    if res.r["cold"]:
        parts += ["### Process start to first output, peak memory", process_table(res)]
    if any(res.has("before " + kind) for kind in ("f32", "bf16", "int8")):
        parts += ["### Against the other build", "Its time over this one's, minima.", before_table(res)]
    for quantised, kinds, title in ((False, ["f32", "bf16"], "Float models"), (True, ["int8"], "Quantised models")):
        if not res.models(quantised):
            continue
        names = [f"{s} {k}" for s in ("bycc", "floor") for k in kinds] + ["ORT " + kinds[0]]
        names += ["OpenVINO int8"] if quantised else ["OpenVINO default", "OpenVINO f32"]
        names = [n for n in names + ["before " + k for k in kinds] + ["host " + kinds[0]] if res.has(n)]
        ours = ["bycc " + k for k in kinds]
        pairs = [(o, o.replace("bycc", "floor")) for o in ours] + [("ORT " + kinds[0], o) for o in ours]
        pairs += [("OpenVINO int8", "bycc int8")] if quantised else \
            [("OpenVINO f32", "bycc f32"), ("OpenVINO default", "bycc bf16")]
        pairs = [p for p in pairs + [("ORT " + kinds[0], "host " + kinds[0])] if res.has(p[0]) and res.has(p[1])]
        parts += [f"### {title}", "ms: minimum (lower quartile, spread of the rounds' minima):",
                  times_table(res, names, quantised)]
        if pairs:
            parts += ["Ratios of minima:", ratio_table(res, pairs, quantised)]
    parts += ["### Outputs and compilation", agreement_table(res), gaps(res)]
    return "\n\n".join(p for p in parts if p).strip() + "\n"


def replace(path, text):
    old = open(path).read()
    if BEGIN not in old or END not in old:
        sys.exit(f"{path} has no {BEGIN} ... {END}")
    head, rest = old.split(BEGIN, 1)
    with open(path, "w") as file:
        file.write(head + BEGIN + "\n\n" + text + "\n" + END + rest.split(END, 1)[1])
