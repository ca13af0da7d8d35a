#!/usr/bin/env python3
"""What libbycc and libbycc_runtime show is what the installed headers declare: all of it, and
nothing else but the way in of our own programs. LLVM, oneDNN and templates of the standard
library, which libbycc has, cannot meet what the program has.

exports.py SOURCE LIBBYCC LIBBYCC_RUNTIME
"""
import ctypes
import re
import subprocess
import sys

source, compiler, runtime = sys.argv[1:]
failures = []
for library in (compiler, runtime):
    try:
        ctypes.CDLL(library)  # by a program that runs: there is room for few thread-locals
    except OSError as problem:
        failures.append(f"cannot be opened: {problem}")


def symbols(library, *options):
    """(type, name without the version of the symbol) of what is defined."""
    text = subprocess.run(["nm", "--defined-only", *options, library], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        match = re.match(r"[0-9a-f]+ (\w) (.*)$", line)
        if match and match[1] != "A":
            yield match[1], re.sub(r"@@?\w+$", "", match[2])


def shown(library, *options):
    return {name for _, name in symbols(library, "--dynamic", "--extern-only", *options)}


def header(name):
    text = open(f"{source}/include/{name}").read()
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', "", text, flags=re.S)


def c_functions(name):
    return set(re.findall(r"^(?!typedef)[\w *]*?\b(bycc_\w+)\(", header(name), flags=re.M))


def outside_of_braces(text):
    """The text of namespaces, without bodies of classes and functions."""
    text = re.sub(r'extern "C" \{|namespace [\w:]* ?\{|namespace \{', "", text)
    result, depth = "", 0
    for char in text:
        depth += char == "{"
        result += char if depth == 0 else ""
        depth -= char == "}" and depth > 0
    return result


headers = re.findall(r"^  (bycc/\S+\.(?:h|def))$", open(f"{source}/share/cmake/PublicHeaders.cmake").read(), flags=re.M)
cpp = "\n".join(header(name) for name in headers if re.search(r"/[A-Z]", name))
classes = set(re.findall(r"\b(?:class|struct)\s+(?:\[\[nodiscard\]\]\s+)?(\w+)[^;{()]*\{", cpp))
free = outside_of_braces(cpp)
functions = set(re.findall(r"\b(\w+)\s*\(", free))


def owner(symbol):
    """The class or function of namespace bycc that a C++ symbol is of; and whether it is a class."""
    of = re.sub(r"^(vtable|typeinfo|typeinfo name|guard variable|(non-)?virtual thunk|VTT) (for|to) ", "", symbol)
    match = re.match(r"bycc::((?:\w+::)*)(~?\w+)", of)
    if not match:
        return None, False
    scopes = match[1].split("::")
    isclass = bool(scopes[0]) or of != symbol
    return (scopes[0] or match[2]), isclass


# Nothing else is shown.
private = {"bycc_private_main"}
c_shown = {name for name in shown(compiler) if name.startswith("bycc_")}
wanted = c_functions("bycc/compiler.h") | private
if c_shown != wanted:
    failures.append(f"C functions of libbycc: too many {sorted(c_shown - wanted)}, missing {sorted(wanted - c_shown)}")
if shown(runtime) != c_functions("bycc/runtime.h"):
    failures.append(f"libbycc_runtime and bycc/runtime.h differ: {sorted(shown(runtime) ^ c_functions('bycc/runtime.h'))}")
cpp_shown = shown(compiler, "--demangle") - c_shown
for symbol in sorted(cpp_shown):
    name, isclass = owner(symbol)
    if name not in (classes if isclass else functions):
        failures.append(f"no public header declares what is shown: {symbol}")

# Nothing that is declared is missing.
for kind, symbol in symbols(compiler, "--demangle"):
    if kind not in "tTwW" or symbol in cpp_shown or "[clone" in symbol or "{lambda" in symbol or not symbol.startswith("bycc::"):
        continue
    name, isclass = owner(symbol)
    scope = symbol.split("(")[0]
    if "::_" in scope or "(anonymous" in symbol or "<" in scope:
        continue
    if name in (classes if isclass else functions):
        failures.append(f"a public header declares what is not shown (lib/bycc.map): {symbol}")

if len(cpp_shown) < 300 or len(classes) < 40 or len(functions) < 40:
    failures.append(f"too little was looked at: {len(cpp_shown)} symbols, {len(classes)} classes, {len(functions)} functions")
print("\n".join(failures))
sys.exit(bool(failures))
