"""Which cases of ONNX's suites bycc does not try to run, and why.

bycc compiles inference on tensors of numbers. A case is outside when it needs

- strings, sequences, optionals, maps or sparse tensors as inputs or outputs;
- dtypes that bycc has no arithmetic of: float8, float4, 4-bit and 2-bit integers, complex numbers;
- training: operators of ai.onnx.preview.training, Dropout with an input that switches training on,
  BatchNormalization with training_mode;
- random results, which no expected output can hold;
- ml: operators of ai.onnx.ml (trees, text), a standard of its own;
- preview: operators of ai.onnx.preview, which have no fixed definition yet;
- images: ImageDecoder, which reads files of image formats.

Dropout without that input is the identity, seed or not: it must pass."""

RANDOM_OPS = {'RandomNormal', 'RandomNormalLike', 'RandomUniform', 'RandomUniformLike', 'Multinomial', 'Bernoulli'}
VALUE_KINDS = {'string': 'strings', 'sequence': 'sequences', 'optional': 'optionals', 'map': 'maps',
               'sparse tensor': 'sparse tensors'}
DOMAINS = {'ai.onnx.preview.training': 'training', 'ai.onnx.ml': 'ml', 'ai.onnx.preview': 'preview'}


def kind_of_op(domain, op):
    if domain in DOMAINS:
        return DOMAINS[domain]
    if op in RANDOM_OPS:
        return 'random'
    if op == 'ImageDecoder':
        return 'images'
    if op == 'SequenceMap':  # other operators on sequences leave none in the program
        return 'sequences'
    if op.startswith('Optional'):
        return 'optionals'
    return 'strings' if op.startswith('String') else ''


def outside(model):
    """'KIND: what' for a case that is outside, else ''."""
    for name, kind in model.inputs + model.outputs:
        if kind != 'tensor':
            return '%s: %s is of type %s' % (VALUE_KINDS.get(kind, 'dtypes'), name, kind)
    for domain, op in sorted(model.ops):
        if kind := kind_of_op(domain, op):
            return '%s: %s' % (kind, op)
    return ''.join('training: %s in training mode' % op for op in sorted(model.trains)[:1])
