#!/usr/bin/env python3
"""Writes the cases merge_*, cost_* beside itself: small programs on which greedy
merging is not optimal.

What is expected comes from looking at every grouping that the merging rule
allows, here and not in bycc. A case is refused when Relay's greedy merging (each
region absorbs those of its inputs unless a path leads back) does as well.
"""
import itertools
import json
import math
import os

SMALL, LARGE = (1, 8), (64, 8)
EVAL = {
    "abs": abs, "tanh": math.tanh, "sin": math.sin, "cos": math.cos, "exp": math.exp,
    "negative": lambda a: -a, "nn.relu": lambda a: max(a, 0.0),
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
    "add": lambda a, b: a + b, "multiply": lambda a, b: a * b,
    "subtract": lambda a, b: a - b, "maximum": max, "minimum": min,
}


class Case:
    """lines: (name, operator, arguments); `let` names are bound by let."""

    def __init__(self, name, title, vendors, lines, results, deny=(), cost=None, large=(), lets=()):
        self.name, self.title, self.vendors = name, title, vendors
        self.lines, self.results, self.deny = lines, results, deny
        self.cost, self.large, self.lets = cost, set(large), set(lets)
        self.inputs = []
        for _, _, args in lines:
            for arg in args:
                if arg not in self.inputs and arg not in [line[0] for line in lines]:
                    self.inputs.append(arg)
        self.names = [line[0] for line in lines]
        self.op = {line[0]: line[1] for line in lines}
        self.args = {line[0]: line[2] for line in lines}
        self.owner = {n: next((v for v, ops in vendors.items() if self.op[n] in ops), None)
                      for n in self.names}
        self.shape = {i: LARGE if i in self.large else SMALL for i in self.inputs}
        for n in self.names:
            self.shape[n] = (SMALL if self.op[n] == "mean" else
                             max(self.shape[a] for a in self.args[n]))

    # --- the merging rule

    def users(self, value):
        return [n for n in self.names if value in self.args[n]]

    def links(self):
        """Sets of calls that touch one value, or that one tuple gathers."""
        values = self.inputs + self.names
        sets = [set(self.users(v)) | ({v} & set(self.names)) for v in values]
        if len(self.results) > 1:
            sets.append(set(self.results) & set(self.names))
        return sets

    def is_linked(self, group):
        reached, rest = {group[0]}, set(group[1:])
        while rest:
            more = {n for s in self.links() if s & reached for n in s & rest}
            if not more:
                return False
            reached |= more
            rest -= more
        return True

    def is_denied(self, group):
        return any((self.op[a], self.op[n]) in self.deny
                   for n in group for a in self.args[n] if a in group)

    def has_cycle(self, groups):
        where = {n: i for i, g in enumerate(groups) for n in g}
        where.update({n: len(groups) + k for k, n in enumerate(self.names) if n not in where})
        needs = {}
        for n in self.names:
            for a in self.args[n]:
                if a in where and where[a] != where[n]:
                    needs.setdefault(where[n], set()).add(where[a])
        done, active = set(), set()

        def visit(g):
            if g in done:
                return False
            if g in active:
                return True
            active.add(g)
            found = any(visit(m) for m in needs.get(g, ()))
            done.add(g)
            return found
        return any(visit(g) for g in list(needs))

    def groupings(self):
        mine = [n for n in self.names if self.owner[n]]

        def place(i, groups):
            if i == len(mine):
                if all(self.is_linked(g) for g in groups):
                    yield [list(g) for g in groups]
                return
            for g in groups:
                if self.owner[g[0]] != self.owner[mine[i]] or self.is_denied(g + [mine[i]]):
                    continue
                g.append(mine[i])
                if not self.has_cycle(groups):
                    yield from place(i + 1, groups)
                g.pop()
            groups.append([mine[i]])
            yield from place(i + 1, groups)
            groups.pop()
        yield from place(0, [])

    def greedy(self):
        """Relay's merging in program order, calls of the host included."""
        region = {n: n for n in self.names}
        barred = {n: set() for n in self.names}
        for n in self.names:
            parents = list(dict.fromkeys(region[a] for a in self.args[n]
                                         if a in region and a not in self.lets))
            for p in parents:
                barred[n] |= barred[p]
            for p in parents:
                both = [m for m in self.names if region[m] in (p, n)]
                if self.owner[p] != self.owner[n] or (self.owner[n] and self.is_denied(both)):
                    barred[n].add(p)
                elif p not in barred[n]:
                    region = {m: n if r == p else r for m, r in region.items()}
                    for b in barred.values():
                        if p in b:
                            b.remove(p)
                            b.add(n)
        return [[m for m in self.names if region[m] == r]
                for r in dict.fromkeys(region.values()) if self.owner[r]]

    # --- what a grouping costs

    def ins(self, group):
        return list(dict.fromkeys(a for n in group for a in self.args[n] if a not in group))

    def outs(self, group):
        return [n for n in group
                if n in self.results or any(u not in group for u in self.users(n))]

    def time(self, groups):
        """A launch for each group; each value once into and once out of a vendor's memory."""
        crossings = set()
        for g in groups:
            vendor = self.owner[g[0]]
            crossings |= {("in", vendor, v) for v in self.ins(g)}
            crossings |= {("out", vendor, v) for v in self.outs(g)}
        total = len(groups) * self.cost["launch_us"] * 1e6
        for _, _, v in crossings:
            total += self.cost.get("transfer_us", 0) * 1e6
            if "transfer_gb_per_s" in self.cost:
                total += 4 * math.prod(self.shape[v]) / self.cost["transfer_gb_per_s"] * 1000
        return round(total)

    def best(self):
        score = self.time if self.cost else len
        all_groupings = [[list(g) for g in groups] for groups in self.groupings()]
        least = min(score(g) for g in all_groupings)
        return [g for g in all_groupings if score(g) == least], min(len(g) for g in all_groupings)

    # --- files

    def text(self):
        tensor = lambda v: "Tensor[(%s), float32]" % ", ".join(map(str, self.shape[v]))
        ref = lambda v: "%" + v
        out = ['#[version = "0.0.5"]']
        params = ", ".join("%%%s: %s" % (i, tensor(i)) for i in self.inputs)
        kinds = [tensor(r) for r in self.results]
        self.result = kinds[0] if len(kinds) == 1 else "(" + ", ".join(kinds) + ")"
        self.main = [[i, tensor(i)] for i in self.inputs]
        out.append("def @main(%s) -> %s {" % (params, self.result))
        number = {n: "%" + (n if n in self.lets else str(k)) for k, n in enumerate(self.names)}
        show = lambda v: number.get(v, ref(v))
        for n in self.names:
            extra = ", axis=[0], keepdims=True" if self.op[n] == "mean" else ""
            call = "%s(%s%s)" % (self.op[n], ", ".join(map(show, self.args[n])), extra)
            out.append("  %s%s = %s;" % ("let " if n in self.lets else "", number[n], call))
        last = ", ".join(map(show, self.results))
        out.append("  " + (last if len(self.results) == 1 else "(" + last + ")"))
        return "\n".join(out) + "\n}\n"

    def describe(self, group):
        return {"compiler": self.owner[group[0]], "ops": sorted(self.op[n] for n in group),
                "composites": [], "params": len(self.ins(group)),
                "results": len(self.outs(group)), "constants": 0}

    def runs(self):
        values = {v: [((i * 5 + 3 * k) % 11 - 5) / 4 for k in range(8)]
                  for i, v in enumerate(self.inputs)}
        tensor = lambda d: {"dtype": "float32", "shape": list(SMALL), "data": d}
        inputs = {v: tensor(values[v]) for v in self.inputs}
        for n in self.names:
            values[n] = [EVAL[self.op[n]](*z) for z in zip(*(values[a] for a in self.args[n]))]
        rounded = lambda d: [float("%.7g" % x) for x in d]
        return [{"inputs": inputs, "outputs": [tensor(rounded(values[r])) for r in self.results]}]

    def write(self, folder):
        best, fewest = self.best()
        greedy = self.greedy()
        if self.cost:
            assert self.time(best[0]) < self.time(greedy), self.name
        else:
            assert len(best[0]) < len(greedy), (self.name, best[0], greedy)
        count = lambda v: {len([g for g in gs if self.owner[g[0]] == v]) for gs in best}
        vendors = []
        for v, ops in self.vendors.items():
            entry = {"name": v, "ops": {op: {} for op in ops}}
            if self.deny:
                entry["edges"] = {"deny": [list(pair) for pair in self.deny]}
            if self.cost:
                entry["cost"] = self.cost
            vendors.append(entry)
        functions = []
        for gs in best:
            f = sorted((self.describe(g) for g in gs), key=json.dumps)
            if f not in functions:
                functions.append(f)
        properties = ["well_typed", "no_annotations", "acyclic", "unique_symbols",
                      "valid_symbols", "no_unused_external", "no_duplicate_params",
                      "flat_results", "no_recompute"]
        text = self.text()
        expect = {
            "external": {v: {"min": min(count(v)), "max": max(count(v))} for v in self.vendors},
            "total_external": {"min": len(best[0]), "max": len(best[0])},
            "functions_any_of": functions,
            "host_ops": sorted(self.op[n] for n in self.names if not self.owner[n]),
            "composites": {}, "main": {"params": self.main, "result": self.result},
            "properties": properties}
        if not self.cost:
            properties.append("same_results")
            expect.update({"runs": self.runs(), "rtol": 0.0001, "atol": 0.00001})
        case = {"schema": 1, "name": self.name, "title": self.title,
                "pipeline": {"vendors": vendors, "merge_regions": True, "bind_constants": True,
                             "mod_name": "default"}}
        if self.cost:
            case["cost_model"] = "static"
        case["expect"] = expect
        path = os.path.join(folder, self.name)
        with open(path + ".relay", "w") as f:
            f.write(text)
        with open(path + ".expect.json", "w") as f:
            f.write(json.dumps(case, indent=1) + "\n")
        print("%-40s best %d%s, fewest %d, greedy %d" % (
            self.name, len(best[0]), " (of %d)" % len(best) if len(best) > 1 else "", fewest,
            len(greedy)))


def parse(program):
    lines = []
    for line in program.split(";"):
        name, call = (part.strip() for part in line.split("=", 1))
        op, args = call.rstrip(")").split("(")
        lines.append((name, op.strip(), [a.strip() for a in args.split(",")]))
    return lines


def case(name, title, program, results, deny=(), cost=None, large=(), lets=(), **vendors):
    ops = {v: o.split() for v, o in vendors.items()}
    return Case(name, title, ops, parse(program), results.split(), deny, cost, large, lets)


DEAR = {"launch_us": 0.0001, "transfer_gb_per_s": 10000}
CHEAP = {"launch_us": 0.0001, "transfer_gb_per_s": 10000000}
COUNTED = {"launch_us": 0.000001, "transfer_us": 0.0001}

CASES = [
    case("merge_readers_of_an_input", "Greedy merging joins makers and users only: three readers "
         "of one input stay three regions",
         "a = abs(x); b = tanh(x); c = negative(x); d = sin(a); e = cos(b); f = sin(c)", "d e f",
         va="abs tanh negative"),
    case("merge_readers_of_a_host_value", "Greedy merging does not join siblings that read a "
         "value of the host",
         "h = sin(x); a = abs(h); b = tanh(h); c = cos(a); d = cos(b); e = add(c, d)", "e",
         va="abs tanh"),
    case("merge_readers_of_another_vendor", "Greedy merging does not join siblings that read a "
         "value of another vendor",
         "h = exp(x); a = abs(h); b = tanh(h); c = cos(a); d = cos(b); e = exp(c); f = exp(d)",
         "e f", va="abs tanh", vb="exp"),
    case("merge_makers_gathered_by_a_tuple", "Greedy merging does not join what only the tuple of "
         "results gathers",
         "a = abs(x); b = tanh(y); c = negative(z)", "a b c", va="abs tanh negative"),
    case("merge_two_levels_of_siblings", "Greedy merging leaves two chains through the host as "
         "four regions; side by side they are two",
         "a = abs(x); b = tanh(x); c = sin(a); d = cos(b); e = abs(c); f = tanh(d)", "e f",
         va="abs tanh"),
    case("merge_three_levels_of_siblings", "Greedy merging leaves two chains through the host as "
         "six regions; level by level they are three",
         "a = abs(x); b = tanh(x); c = sin(a); d = cos(b); e = add(c, d); f = multiply(c, d);"
         "g = sin(e); h = cos(f); i = abs(g); j = tanh(h)", "i j", va="abs tanh add multiply"),
    case("merge_despite_one_block_of_the_host", "Greedy merging joins calls of the host as well "
         "and then takes them for one: abs and multiply could be one region",
         "h = sin(x); a = abs(x); g = add(h, a); b = multiply(a, h)", "g b", va="abs multiply"),
    case("merge_across_a_let", "Greedy merging stops at a let",
         "a = abs(x); b = tanh(a); c = negative(b)", "c", lets="a b".split(),
         va="abs tanh negative"),
    case("merge_siblings_bound_by_let", "Greedy merging joins neither siblings nor across a let",
         "a = abs(x); b = tanh(x); c = sin(a); d = add(c, b)", "d", lets="a b".split(),
         va="abs tanh add"),
    case("merge_two_vendors_one_order", "The siblings of one vendor or of the other can join; greedy "
         "merging joins none",
         "a = abs(x); p = maximum(a, x); q = exp(x); b = add(q, x)", "p b", va="abs add",
         vb="exp maximum"),
    case("merge_two_vendors_two_levels", "Two vendors side by side on two levels: greedy merging "
         "leaves twice the regions",
         "a = abs(x); b = tanh(x); p = exp(a); q = sigmoid(b); c = abs(p); d = tanh(q)", "c d",
         va="abs tanh", vb="exp sigmoid"),
    case("merge_supersequence_of_chains", "Three chains of two vendors: the order of regions is a "
         "shortest common supersequence, greedy merging takes every chain alone",
         "a = abs(x); b = exp(a); c = exp(x); d = abs(c); e = abs(x); f = exp(e); g = abs(f)",
         "b d g", va="abs", vb="exp"),
    case("merge_sibling_of_a_later_level", "A reader of the input joins the second region, where "
         "greedy merging makes it a third",
         "a = abs(x); h = sin(a); b = add(h, x); c = tanh(x); d = maximum(b, c)", "d c h",
         va="abs add tanh"),
    case("merge_diamond_with_a_sibling", "A diamond whose arm is the host's, and a sibling that "
         "greedy merging leaves alone",
         "a = abs(x); h = tanh(a); b = nn.relu(x); c = add(h, a); d = cos(b)", "c d",
         va="abs nn.relu add"),
    case("merge_siblings_past_a_denied_edge", "No value may pass from abs to tanh; greedy merging "
         "misses the siblings on both sides",
         "a = abs(x); b = tanh(a); c = negative(x); d = sin(c); e = tanh(d)", "b e",
         deny=[("abs", "tanh")], va="abs tanh negative"),
    case("merge_chain_with_denied_edges", "Greedy merging cuts each chain where an edge is denied; "
         "side by side the pieces join",
         "a = abs(x); b = tanh(a); c = abs(b); d = tanh(x); e = abs(d)", "c e",
         deny=[("abs", "tanh")], va="abs tanh"),
    # Times. A small tensor has 32 bytes, a large one 2048.
    case("cost_large_value_stays_inside", "Time decides: three regions keep the large value inside "
         "where the fewest, two, send it across twice; greedy merging leaves a sibling alone",
         "a = add(x, z); c = maximum(x, y); s = tanh(y); h = sin(c); b = add(a, h); m = mean(b);"
         "n = mean(a); k = cos(n); d = abs(k)", "m d c s", cost=DEAR, large=["z"],
         va="add maximum tanh mean abs"),
    case("cost_launches_count", "Time decides: where borders are cheap the same program has two "
         "regions; greedy merging has more",
         "a = add(x, z); c = exp(x); h = sin(c); b = add(a, h); m = mean(b); n = mean(a);"
         "k = cos(n); d = abs(k)", "m d c", cost=CHEAP, large=["z"], va="add exp mean abs"),
    case("cost_large_input_is_read_once", "Time decides: both readers of the large input are in "
         "one region, which greedy merging never makes of siblings",
         "a = mean(z); b = abs(z); c = mean(b); d = sin(a); e = cos(c); f = add(d, e)", "f",
         cost=DEAR, large=["z"], va="mean abs"),
    case("cost_large_arm_of_a_diamond", "Time decides: the large value of a diamond stays with its "
         "reader; greedy merging joins it to its maker and sends it across",
         "b = abs(x); a = add(b, z); h = sin(b); c = multiply(a, h); m = mean(c)", "m",
         cost=DEAR, large=["z"], va="add abs multiply mean"),
    case("cost_of_two_vendors", "Time decides between the siblings of two vendors: the launch of the "
         "first or of the second is saved; greedy merging saves none",
         "a = mean(z); p = maximum(a, x); q = exp(x); b = add(q, z); m = mean(b)", "p m",
         cost=COUNTED, large=["z"], va="mean add", vb="exp maximum"),
    case("cost_of_every_tensor", "Time decides: each tensor across a border costs the same; "
         "siblings share what greedy merging passes twice",
         "a = add(x, y); b = multiply(x, y); c = sin(a); d = cos(b); e = add(c, d)", "e",
         cost=COUNTED, va="multiply add"),
]

if __name__ == "__main__":
    for one in CASES:
        one.write(os.path.dirname(os.path.abspath(__file__)))
