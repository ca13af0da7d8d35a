// Program -> C text. One function for each step, and a table of them:
//
//   static void step0(const uint8_t *weights, uint8_t *arena,
//                     const void *const *in, void *const *out) {
//     const float *restrict input0 = in[0];
//     const float *restrict constant1 = (const float *)(weights + 4096);
//     ...
//   }
//   void (*const bycc_region_steps[])(...) = {step0, step1};
//
// Nothing of the model gets into the text but numbers: names are made here, and
// weights are read through `weights` (single elements are literals).
#include "Program.h"

#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>

namespace bycc::ccompiler {

namespace {

// Adjacent axes that all accesses walk as one become one; axes of extent 1 go.
struct Collapsed {
  Dims dims;
  std::vector<Dims> strides; // of each access
};

Collapsed collapse(const Dims &dims, const std::vector<Dims> &accesses) {
  Collapsed c;
  c.strides.resize(accesses.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1)
      continue;
    bool joins = !c.dims.empty();
    for (size_t a = 0; joins && a < accesses.size(); ++a)
      joins = c.strides[a].back() == accesses[a][i] * dims[i];
    if (joins)
      c.dims.back() *= dims[i];
    else
      c.dims.push_back(dims[i]);
    for (size_t a = 0; a < accesses.size(); ++a) {
      if (!joins)
        c.strides[a].emplace_back();
      c.strides[a].back() = accesses[a][i];
    }
  }
  return c;
}

class StepEmitter {
public:
  StepEmitter(const Program &program, const Step &step, CWriter &out)
      : p_(program), step_(step), out_(out) {
    for (size_t i : step.pieces)
      made_.insert(piece(i).result);
  }

  void emit() {
    declarePointers();
    const Piece &first = piece(step_.pieces[0]);
    if (!first.anchor)
      return emitLoops();
    first.anchor->emit(
        out_, [&](ValueId value) { return pointer(value); },
        [&](const std::string &element, const std::vector<std::string> &index) {
          bind(first.result, element);
          formulas(1, [&](const Operand &operand) {
            return indexText(index, operand.strides, operand.offset);
          });
          stores(indexText(index, rowStrides(p_.value(first.result).dims)));
        });
  }

private:
  const Piece &piece(size_t index) const { return p_.pieces[index]; }

  // A value read from memory: not made here, and no literal.
  bool isLoaded(const Operand &operand) const {
    return !made_.contains(operand.value) && !isLiteral(operand.value);
  }
  bool isLiteral(ValueId value) const {
    return p_.value(value).data && count(p_.value(value).dims) == 1;
  }

  std::string pointer(ValueId value) const {
    ValueId root = p_.value(value).root;
    const Place &place = p_.places[root];
    switch (place.kind) {
    case Place::Input:
      return "input" + std::to_string(place.where);
    case Place::Output:
      return "output" + std::to_string(place.where);
    case Place::Weights:
      return "constant" + std::to_string(root);
    default:
      return "temp" + std::to_string(root);
    }
  }

  void declarePointers() {
    std::map<ValueId, bool> isWritten; // roots
    for (size_t i : step_.pieces) {
      for (const Operand &operand : piece(i).operands)
        if (isLoaded(operand))
          isWritten.try_emplace(p_.value(operand.value).root, false);
      if (piece(i).anchor)
        for (ValueId value : piece(i).anchor->reads())
          isWritten.try_emplace(p_.value(value).root, false);
      if (p_.isStored[piece(i).result])
        isWritten[piece(i).result] = true;
    }
    for (auto [root, written] : isWritten)
      declare(root, written);
  }

  void declare(ValueId root, bool isWritten) {
    std::string type = std::string(isWritten ? "" : "const ") + cType(p_.value(root).dtype) + " *";
    std::string where = std::to_string(p_.places[root].where), from;
    switch (p_.places[root].kind) {
    case Place::Input:
      from = "in[" + where + "]";
      break;
    case Place::Output:
      from = "out[" + where + "]";
      break;
    case Place::Weights:
      from = "(" + type + ")(weights + " + where + ")";
      break;
    default:
      from = "(" + type + ")(arena + " + where + ")";
      break;
    }
    out_.line(type + "restrict " + pointer(root) + " = " + from + ";");
  }

  void emitLoops() {
    const Dims &dims = p_.value(piece(step_.pieces[0]).result).dims;
    std::vector<Dims> accesses = {rowStrides(dims)};
    for (size_t i : step_.pieces)
      for (const Operand &operand : piece(i).operands)
        if (isLoaded(operand))
          accesses.push_back(operand.strides);
    Collapsed c = collapse(dims, accesses);
    size_t depth = out_.depth(), next = 1;
    std::vector<std::string> index;
    for (size_t a = 0; a < c.dims.size(); ++a) {
      index.push_back("i" + std::to_string(a));
      out_.loop(index.back(), c.dims[a]);
    }
    formulas(0, [&](const Operand &operand) {
      return indexText(index, c.strides[next++], operand.offset);
    });
    stores(indexText(index, c.strides[0]));
    out_.closeTo(depth);
  }

  void bind(ValueId value, const std::string &expression) {
    out_.line(std::string("const ") + cType(p_.value(value).dtype) + " v" + std::to_string(value) +
              " = " + expression + ";");
  }

  template <typename IndexOf> void formulas(size_t from, IndexOf indexOf) {
    for (size_t i = from; i < step_.pieces.size(); ++i) {
      const Piece &made = piece(step_.pieces[i]);
      std::vector<std::pair<char, std::string>> operands;
      for (size_t k = 0; k < made.operands.size(); ++k)
        operands.emplace_back(static_cast<char>('0' + k), operandText(made.operands[k], indexOf));
      bind(made.result, filled(made.formula, operands));
    }
  }

  template <typename IndexOf> std::string operandText(const Operand &operand, IndexOf indexOf) {
    const Value &value = p_.value(operand.value);
    if (made_.contains(operand.value))
      return "v" + std::to_string(operand.value);
    if (isLiteral(operand.value))
      return literal(value.dtype, value.data, 0);
    return pointer(operand.value) + "[" + indexOf(operand) + "]";
  }

  void stores(const std::string &index) {
    for (size_t i : step_.pieces)
      if (ValueId value = piece(i).result; p_.isStored[value])
        out_.line(pointer(value) + "[" + index + "] = v" + std::to_string(value) + ";");
  }

  const Program &p_;
  const Step &step_;
  CWriter &out_;
  std::set<ValueId> made_;
};

constexpr const char *arguments =
    "const uint8_t *weights, uint8_t *arena, const void *const *in, void *const *out";

void openFunction(CWriter &out, size_t number, const std::string &comment) {
  out.line("");
  out.line("// " + comment);
  out.open("static void step" + std::to_string(number) + "(" + arguments + ")");
}

// What no step writes into an output of its own.
void emitCopies(const Program &p, CWriter &out) {
  for (auto [value, output] : p.copies) {
    const Place &place = p.places[value];
    std::string where = std::to_string(place.where);
    std::string from = place.kind == Place::Input     ? "in[" + where + "]"
                       : place.kind == Place::Output  ? "out[" + where + "]"
                       : place.kind == Place::Weights ? "weights + " + where
                                                      : "arena + " + where;
    out.line("memcpy(out[" + std::to_string(output) + "], " + from + ", " +
             std::to_string(sizeBytes(p.value(value))) + ");");
  }
}

std::string dimsText(const Program &p, const Step &step) {
  return text(p.value(p.pieces[step.pieces.back()].result).dims);
}

void emitTable(CWriter &out, size_t count) {
  out.line("");
  out.line("typedef void (*step_function)(" + std::string(arguments) + ");");
  std::string names;
  for (size_t i = 0; i < count; ++i)
    names += (i ? ", step" : "step") + std::to_string(i);
  out.line("const step_function bycc_region_steps[] = {" + (count ? names : "0") + "};");
}

std::string joined(std::vector<std::string> names) {
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return join(names, ", ");
}

} // namespace

std::string stepName(const Program &program, const Step &step) {
  std::vector<std::string> names;
  for (size_t i : step.pieces)
    names.push_back(program.pieces[i].op);
  return joined(std::move(names));
}

std::string stepSource(const Program &program, const Step &step) {
  std::vector<std::string> names;
  for (size_t i : step.pieces)
    names.push_back(program.pieces[i].source);
  return joined(std::move(names));
}

std::string emitC(const Program &program) {
  CWriter out;
  out.line("// Region " + asIdentifier(program.graph.symbol) + ".");
  for (const char *header : {"math", "stdint", "string"})
    out.line("#include <" + std::string(header) + ".h>");
  for (const std::string &helper : program.helpers)
    out.line("\n" + helper.substr(0, helper.size() - 1));
  size_t number = 0;
  for (const Step &step : program.steps) {
    openFunction(out, number++, stepName(program, step) + ": " + dimsText(program, step));
    StepEmitter(program, step, out).emit();
    out.close();
  }
  if (!program.copies.empty()) {
    openFunction(out, number++, "copies to outputs");
    emitCopies(program, out);
    out.close();
  }
  emitTable(out, number);
  return out.take();
}

} // namespace bycc::ccompiler
