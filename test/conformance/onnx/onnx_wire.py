"""Reads what the conformance runner needs of ONNX's protobuf files: the names and
types of a graph's inputs and outputs, its operators, and tensors as .npy."""

import struct

# TensorProto.DataType -> NumPy's type code; bfloat16 travels as its bits.
NPY_TYPES = {1: '<f4', 2: '|u1', 3: '|i1', 4: '<u2', 5: '<i2', 6: '<i4', 7: '<i8', 9: '|b1', 10: '<f2', 11: '<f8', 12: '<u4', 13: '<u8', 16: '<u2'}
# The field that holds values that are not in raw_data, and the code of one in it.
TYPED_FIELDS = {1: (4, '<f'), 11: (10, '<d'), 7: (7, 'varint'), 12: (11, 'varint'), 13: (11, 'varint')}
TYPE_NAMES = {0: 'undefined', 8: 'string', 14: 'complex64', 15: 'complex128', 17: 'float8e4m3fn', 18: 'float8e4m3fnuz', 19: 'float8e5m2',
              20: 'float8e5m2fnuz', 21: 'uint4', 22: 'int4', 23: 'float4e2m1', 24: 'float8e8m0', 25: 'uint2', 26: 'int2'}


class NotATensor(Exception):
    """The file holds something else than a tensor of numbers; the text says what."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields (field number, value); lengths are bytes, fixed numbers their bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def first(data, number, default=b''):
    return next((value for field, value in fields(data) if field == number), default)


def repeated(data, number):
    return [value for field, value in fields(data) if field == number]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def type_name(type_proto):
    """'tensor', or what else an input or output is: a sequence, an optional, a tensor of strings, ..."""
    for field, value in fields(type_proto):
        if field == 1:
            element = first(value, 1, 0)
            return 'tensor' if element in NPY_TYPES else TYPE_NAMES.get(element, 'type %d' % element)
        if field in (4, 5, 8, 9):
            return {4: 'sequence', 5: 'map', 8: 'sparse tensor', 9: 'optional'}[field]
    return 'untyped'


class Model:
    """inputs, outputs: (name, type name) each; ops: (domain, operator) of all nodes, subgraphs included;
    trains: operators among them that are switched to training; opset: the version of ONNX's own operators."""

    def __init__(self, data):
        graph = first(data, 7)
        given = {first(tensor, 8).decode() for tensor in repeated(graph, 5)}
        values = lambda number: [(first(v, 1).decode(), type_name(first(v, 2))) for v in repeated(graph, number)]
        self.inputs = [value for value in values(11) if value[0] not in given]
        self.outputs = values(12)
        self.opset = max([first(entry, 2, 1) for entry in repeated(data, 8) if not first(entry, 1)], default=0)
        self.ops, self.trains = set(), set()
        self._walk(graph)
        for function in repeated(data, 25):
            self._nodes(repeated(function, 7))

    def _walk(self, graph):
        self._nodes(repeated(graph, 1))

    def _nodes(self, nodes):
        for node in nodes:
            op = first(node, 4).decode()
            self.ops.add((first(node, 7).decode(), op))
            if op == 'Dropout' and any(repeated(node, 1)[2:]):
                self.trains.add(op)
            for attribute in repeated(node, 5):
                if first(attribute, 1) == b'training_mode' and first(attribute, 3, 0):
                    self.trains.add(op)
                for graph in repeated(attribute, 6) + repeated(attribute, 11):
                    self._walk(graph)


def dims_of(tensor):
    dims = []
    for value in repeated(tensor, 1):
        if isinstance(value, bytes):  # packed
            at = 0
            while at < len(value):
                dim, at = varint(value, at)
                dims.append(dim)
        else:
            dims.append(value)
    return dims


def payload(tensor, element):
    raw = first(tensor, 9, None)
    if raw is not None:
        return bytes(raw)
    field, code = TYPED_FIELDS.get(element, (5, 'varint'))
    packed = b''.join(v if isinstance(v, bytes) else encode_varint(v) for v in repeated(tensor, field))
    if code != 'varint':
        return packed
    numpy_code, values, at = NPY_TYPES[element], [], 0
    while at < len(packed):
        value, at = varint(packed, at)
        values.append(value)
    size = int(numpy_code[2])
    return b''.join((value & ((1 << 8 * size) - 1)).to_bytes(size, 'little') for value in values)


def encode_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def tensor_to_npy(data, name):
    """The .npy bytes of a serialised TensorProto; `name` is for the message."""
    element = first(data, 2, 0)
    if element not in NPY_TYPES:
        raise NotATensor('%s: %s' % (name, TYPE_NAMES.get(element, 'type %s' % element)))
    dims = dims_of(data)
    shape = '(%s%s)' % (', '.join(map(str, dims)), ',' if len(dims) == 1 else '')
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (NPY_TYPES[element], shape)
    header = header.ljust((len(header) + 11 + 63) // 64 * 64 - 11) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + payload(data, element)
