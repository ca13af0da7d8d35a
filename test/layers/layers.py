#!/usr/bin/env python3
"""Holds every #include of lib, include/bycc, tools and the vendors' suite to the layers that CMake
has written to layers.txt (`name | folder | layers that it depends on | sources`).

usage: layers.py SOURCE LAYERS [--self-test]

A source, and each header of its own folder that it includes, may include

  "bycc/<Layer>/..."    of its layer and of those it depends on, directly or through others
  "bycc/vendor.h" ..    C headers and the kit: contracts by all, bycc/runtime.h and compiler.h by those above them
  "X.h"                 from its own folder; tools and tests also from folders of layers below
  "cli/X.h"             in tools: the folder of a layer below
  <llvm/...> ..         of other projects: the folder that owns them

With --self-test a violation of each kind is put into the tree as it is read, and has to be found."""

import os
import re
import sys

C_HEADERS = {'abi.h': None, 'vendor.h': None, 'vendor.hpp': None, 'pass.h': None, 'runtime.h': 'Runtime', 'compiler.h': 'Compiler'}
OWNERS = {'CLI': 'tools/', 'llvm': 'lib/CodeGen', 'minizip': 'tools/bycc-run', 'nlohmann': 'lib/Support',
          'oneapi': 'lib/Vendors/dnnl', 'xnnpack.h': 'lib/Vendors/xnnpack'}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(.*)$', re.M)


class Layer:
    def __init__(self, row):
        self.name, self.folder, deps, sources = (part.strip() for part in row.split('|'))
        self.deps, self.sources = deps.split(), [s for s in sources.split() if re.fullmatch(r'\w+\.cpp', s)]


class Tree:
    """The repository, with texts that stand in the place of what files hold."""

    def __init__(self, root, rows, changed=None):
        self.root, self.changed = root, changed or {}
        self.layers = {layer.name: layer for layer in map(Layer, rows)}
        self.files = set(self.changed)
        for top in ('lib', 'tools', 'include/bycc', 'test/conformance/vendor', 'test/numeric'):
            for folder, _, names in os.walk(os.path.join(root, top)):
                self.files |= {os.path.relpath(os.path.join(folder, name), root) for name in names
                               if name.endswith(('.cpp', '.h', '.hpp', '.def', '.in', '.c'))}
        self.names = {os.path.basename(file) for file in self.files}

    def below(self, name):
        found, todo = set(), [name]
        while todo:
            layer = todo.pop()
            if layer not in found:
                found.add(layer)
                todo += self.layers[layer].deps
        return found

    def includes(self, file):
        text = self.changed.get(file)
        if text is None:
            with open(os.path.join(self.root, file), encoding='utf-8') as opened:
                text = opened.read()
        text = re.sub(r'/\*.*?\*/', '', text.replace('\\\n', ''), flags=re.S)
        return [re.sub(r'\s*//.*', '', rest).strip() for rest in INCLUDE.findall(text)]


class Check:
    def __init__(self, tree):
        self.tree, self.faults, self.seen, self.visited = tree, [], 0, set()

    def fault(self, file, what):
        if f'{file}: {what}' not in self.faults:
            self.faults.append(f'{file}: {what}')

    def run(self):
        reached = set()
        for layer in self.tree.layers.values():
            below = self.tree.below(layer.name)
            public = {f for f in self.tree.files if f.startswith(f'include/bycc/{layer.name}/') or f == f'include/bycc/{layer.name}.h'}
            sources = {f'{layer.folder}/{source}' for source in layer.sources}
            for file in sorted(public | sources & self.tree.files):
                self.file(layer, below, file, reached)
            reached |= public | sources
        for file in sorted(self.tree.files - reached):
            if file.startswith(('lib/', 'tools/')) and file.endswith(('.cpp', '.h')):
                self.fault(file, 'belongs to no layer: no source includes it')
            elif re.match(r'include/bycc/\w+/', file):
                self.fault(file, 'is a header of no layer')
        return self.faults

    def file(self, layer, below, file, reached):
        if (layer.name, file) in self.visited:
            return
        self.visited.add((layer.name, file))
        reached.add(file)
        for text in self.tree.includes(file):
            self.seen += 1
            match = re.fullmatch(r'(["<])([^">]+)[">]', text)
            if not match:
                self.fault(file, f'#include {text}: what is included is not spelled out')
                continue
            beside = os.path.normpath(os.path.join(os.path.dirname(file), match[2]))
            if '..' in match[2].split('/'):
                self.fault(file, f'includes {match[2]} of another folder')
            elif match[2].startswith('bycc/'):
                self.public(layer, below, file, match[2])
            elif '/' not in match[2] and match[1] == '"' and beside in self.tree.files:
                self.file(layer, below, beside, reached)
            else:
                self.elsewhere(layer, below, file, match[2], match[1] == '"')

    def public(self, layer, below, file, header):
        owner = header.split('/')[1]
        owner = C_HEADERS.get(owner, owner.removesuffix('.h'))
        if f'include/{header}' not in self.tree.files:
            self.fault(file, f'includes {header}, which there is not')
        elif owner and owner not in below:
            self.fault(file, f'{layer.name} must not include {header}')

    # Neither in the folder nor public: a system's header, or another folder's of ours.
    def elsewhere(self, layer, below, file, header, is_quoted):
        owner = OWNERS.get(header.split('/')[0])
        if owner and not layer.folder.startswith(owner):
            self.fault(file, f'includes {header}, which is for {owner} alone')
        places = [f'{self.tree.layers[name].folder}/{os.path.basename(header)}' for name in below]
        if not layer.folder.startswith('lib/'):
            for place in places:
                if place in self.tree.files and not place.startswith('lib/') and place.endswith('/' + header):
                    return
        if is_quoted or os.path.basename(header) in self.tree.names and ('/' not in header or self.is_ours(header)):
            self.fault(file, f'includes {header}, which is not of its folder')

    def is_ours(self, header):
        return any(file.endswith('/' + header) or file == header for file in self.tree.files)


def self_test(source, rows):
    """One file each, with an include that it must not have."""
    injected = [
        ('lib/Support/Text.cpp', '"bycc/IR/Module.h"'),
        ('lib/Support/Text.cpp', '<bycc/IR/Module.h>'),
        ('lib/Support/Text.cpp', '"bycc/Compiler.h"'),
        ('lib/Parser/Lexer.cpp', '"../IR/Shape.h"'),
        ('lib/Parser/Lexer.cpp', '"Shape.h"'),
        ('lib/Parser/Lexer.cpp', '<Shape.h>'),
        ('lib/Parser/Lexer.cpp', '"IR/Shape.h"'),
        ('lib/Parser/Lexer.cpp', '<lib/IR/Shape.h>'),
        ('lib/Parser/Lexer.cpp', 'HEADER'),
        ('lib/Runtime/Model.cpp', '"bycc/compiler.h"'),
        ('lib/Eval/Reduce.cpp', '"bycc/runtime.h"'),
        ('lib/Loops/Lower.cpp', '"bycc/CodeGen/CodeGen.h"'),
        ('lib/Loops/Lower.cpp', '<llvm/IR/Module.h>'),
        ('include/bycc/Loops/Loops.h', '<llvm/IR/Module.h>'),
        ('lib/IR/Printer.cpp', '<nlohmann/json.hpp>'),
        ('lib/Vendors/ccompiler/Compile.cpp', '"bycc/Runtime/ObjectLoader.h"'),
        ('lib/Vendors/ccompiler/Blob.h', '"bycc/Runtime/ObjectLoader.h"'),
        ('lib/Vendors/ccompiler/Runtime.cpp', '"ThreadPool.h"'),
        ('lib/Vendors/dnnl/Translate.h', '"bycc/IR/Module.h"'),
        ('include/bycc/Support/Text.h', '"bycc/IR/Module.h"'),
        ('include/bycc/Support/Text.h', '"bycc/IR/Missing.h"'),
        ('tools/bycc-run/main.cpp', '"bycc/IR/Module.h"'),
        ('tools/bycc-run/main.cpp', '"cli/CommandLine.h"'),
        ('tools/bycc-run/main.cpp', '"../cli/CommandLine.h"'),
        ('tools/bycc-worker/main.cpp', '"bycc/Partition/Passes.h"'),
        ('tools/bycc-vendor-test/main.cpp', '"ThreadPool.h"'),
        ('tools/texts/ManPage.cpp', '"bycc/Driver/Options.h"'),
        ('tools/python/src/Model.h', '"bycc/Compiler.h"'),
        ('test/conformance/vendor/Suite.cpp', '"bycc/CodeGen/CodeGen.h"'),
        ('lib/Support/Forgotten.cpp', '<string>'),
        ('include/bycc/Nowhere/Forgotten.h', '<string>'),
    ]
    missed = []
    for file, include in injected:
        text = '\n'.join(f'#include {each}' for each in [include] + Tree(source, rows).includes(file)) if os.path.exists(os.path.join(source, file)) else f'#include {include}'
        if not any(fault.startswith(file + ':') for fault in Check(Tree(source, rows, {file: text})).run()):
            missed.append(f'{file}: #include {include} is not found')
    return missed


def main():
    source, layers = sys.argv[1:3]
    with open(layers, encoding='utf-8') as opened:
        rows = opened.read().splitlines()
    check = Check(Tree(source, rows))
    faults = check.run()
    if check.seen < 1000:
        faults.append(f'{check.seen} includes were seen: wrong folder?')
    if '--self-test' in sys.argv[3:]:
        faults += self_test(source, rows)
    print('\n'.join(faults) if faults else f'{check.seen} includes keep to {len(check.tree.layers)} layers')
    sys.exit(1 if faults else 0)


main()
