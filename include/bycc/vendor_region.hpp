// Of the kit (vendor.hpp): views of a region, and its extents in a run.
#pragma once

#include "bycc/vendor_errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc::vendor {

// --- reading a region

struct Padding {
  Dims before, after; // by spatial axis
};

namespace detail {

// They throw the kind of what they do not take; readAttribute knows the name.
inline int64_t integerOf(const bycc_attr &attr) {
  if (attr.kind == BYCC_ATTR_INT || attr.kind == BYCC_ATTR_BOOL)
    return attr.i;
  if (attr.kind == BYCC_ATTR_FLOAT && std::abs(attr.f) < 0x1p63 && attr.f == std::trunc(attr.f))
    return static_cast<int64_t>(attr.f);
  throw attr.kind;
}
inline double numberOf(const bycc_attr &attr) {
  return attr.kind == BYCC_ATTR_FLOAT ? attr.f : static_cast<double>(integerOf(attr));
}
inline std::string_view wordOf(const bycc_attr &attr) {
  if (attr.kind == BYCC_ATTR_STRING)
    return attr.s ? attr.s : "";
  throw attr.kind;
}
template <typename T, T each(const bycc_attr &)> std::vector<T> listOf(const bycc_attr &attr) {
  if (attr.kind != BYCC_ATTR_LIST)
    return {each(attr)};
  std::vector<T> items;
  for (uint32_t i = 0; i < attr.count; ++i)
    items.push_back(each(*bycc_item_at(&attr, i)));
  return items;
}
inline std::vector<Dims> listsOf(const bycc_attr &attr) {
  if (attr.kind != BYCC_ATTR_LIST)
    throw attr.kind;
  return listOf<Dims, listOf<int64_t, integerOf>>(attr);
}

template <typename T>
T readAttribute(std::string_view name, const bycc_attr &attr, T read(const bycc_attr &)) {
  try {
    return read(attr);
  } catch (int32_t kind) {
    constexpr std::string_view kinds[] = {"None",    "a bool",   "an integer",
                                          "a float", "a string", "a list"};
    throw Refusal(name, " holds ",
                  kind >= 0 && kind <= BYCC_ATTR_LIST ? kinds[kind]
                                                      : "what this vendor does not know",
                  ", which it does not take");
  }
}

} // namespace detail

// Attributes by name. The one set of rules:
//   - None counts as absent. What is absent gives the fallback; without one it is refused.
//   - integer: an int, a bool, a float without a fraction. number: a float, an int, a bool.
//   - flag: what is not 0. word: a string.
//   - integers, numbers: a list of such, or one alone. lists: a list of lists of integers.
//   - anything else is refused, with the attribute's name.
class Attributes {
public:
  Attributes(const void *attrs, uint32_t size) : attrs_(attrs), size_(size) {}
  uint32_t size() const { return size_; }
  const bycc_attr &at(uint32_t index) const { return *bycc_attr_at(attrs_, index); }

  // Null: absent or None.
  const bycc_attr *find(std::string_view name) const {
    for (uint32_t i = 0; i < size_; ++i)
      if (const bycc_attr &attr = at(i); attr.name && name == attr.name)
        return attr.kind == BYCC_ATTR_NONE ? nullptr : &attr;
    return nullptr;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }

  int64_t integer(std::string_view name) const { return get(name, detail::integerOf); }
  int64_t integer(std::string_view name, int64_t fallback) const {
    return get(name, detail::integerOf, fallback);
  }
  double number(std::string_view name) const { return get(name, detail::numberOf); }
  double number(std::string_view name, double fallback) const {
    return get(name, detail::numberOf, fallback);
  }
  bool flag(std::string_view name) const { return number(name) != 0; }
  bool flag(std::string_view name, bool fallback) const { return number(name, fallback) != 0; }
  std::string_view word(std::string_view name) const { return get(name, detail::wordOf); }
  std::string_view word(std::string_view name, std::string_view fallback) const {
    return get(name, detail::wordOf, fallback);
  }
  Dims integers(std::string_view name) const {
    return get(name, detail::listOf<int64_t, detail::integerOf>);
  }
  Dims integers(std::string_view name, Dims fallback) const {
    return get(name, detail::listOf<int64_t, detail::integerOf>, std::move(fallback));
  }
  std::vector<double> numbers(std::string_view name) const {
    return get(name, detail::listOf<double, detail::numberOf>);
  }
  std::vector<Dims> lists(std::string_view name) const { return get(name, detail::listsOf); }

  // One number for all axes, or one for each: strides, dilation, pool_size.
  Dims spatial(std::string_view name, size_t axes = 2) const {
    return spread(name, integers(name), axes);
  }
  Dims spatial(std::string_view name, size_t axes, int64_t fallback) const {
    return spread(name, integers(name, {fallback}), axes);
  }
  // One number for all sides, one for each axis, or those in front, then those behind.
  Padding padding(std::string_view name = "padding", size_t axes = 2) const {
    Dims all = integers(name, {0});
    if (all.size() == 2 * axes && axes > 0) {
      auto middle = all.begin() + static_cast<std::ptrdiff_t>(axes);
      return {Dims(all.begin(), middle), Dims(middle, all.end())};
    }
    Dims each = spread(name, std::move(all), axes);
    return {each, each};
  }
  // A pair for each axis, in front and behind: pad_width.
  Padding pairs(std::string_view name, size_t axes) const {
    Padding found;
    for (const Dims &pair : lists(name)) {
      if (pair.size() != 2)
        throw Refusal(name, " has ", pair.size(), " numbers for an axis, wanted 2");
      found.before.push_back(pair[0]);
      found.after.push_back(pair[1]);
    }
    if (found.before.size() != axes)
      throw Refusal(name, " has ", found.before.size(), " pairs, wanted one for each of ", axes,
                    " axes");
    return found;
  }
  // Refusal when it is there and is something else: layouts, modes, dtypes of results. "" counts
  // as absent.
  void expect(std::string_view name, std::string_view wanted) const {
    if (std::string_view have = word(name, ""); !have.empty() && have != wanted)
      throw Refusal(name, " is ", have, ", wanted ", wanted);
  }

private:
  template <typename T> T get(std::string_view name, T read(const bycc_attr &)) const {
    const bycc_attr *attr = find(name);
    if (!attr)
      throw Refusal("there is no ", name);
    return detail::readAttribute(name, *attr, read);
  }
  template <typename T>
  T get(std::string_view name, T read(const bycc_attr &), std::type_identity_t<T> fallback) const {
    const bycc_attr *attr = find(name);
    return attr ? detail::readAttribute(name, *attr, read) : fallback;
  }

  static Dims spread(std::string_view name, Dims numbers, size_t axes) {
    if (numbers.size() == 1)
      numbers.resize(axes, numbers[0]);
    if (numbers.size() != axes)
      throw Refusal(name, " has ", numbers.size(), " numbers for ", axes, " axes");
    return numbers;
  }

  const void *attrs_;
  uint32_t size_;
};

// Elements of a region by number: those of a list of numbers, or all.
template <typename T> class List {
public:
  List(const bycc_region *region, uint32_t size, const uint32_t *ids = nullptr)
      : region_(region), ids_(ids), size_(size) {}
  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T operator[](uint32_t index) const { return T(region_, ids_ ? ids_[index] : index); }

  class iterator {
  public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = T;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;
    iterator() : iterator({nullptr, 0}, 0) {}
    iterator(const List &list, uint32_t at) : list_(list), at_(at) {}
    T operator*() const { return list_[at_]; }
    iterator &operator++() { return ++at_, *this; }
    iterator operator++(int) { return iterator(list_, at_++); }
    bool operator==(const iterator &other) const { return at_ == other.at_; }

  private:
    List list_;
    uint32_t at_;
  };
  iterator begin() const { return iterator(*this, 0); }
  iterator end() const { return iterator(*this, size_); }

private:
  const bycc_region *region_;
  const uint32_t *ids_;
  uint32_t size_;
};

class Value {
public:
  Value(const bycc_region *region, uint32_t index)
      : raw_(bycc_value_at(region, index)), region_(region), index_(index) {}
  const bycc_value &raw() const { return *raw_; }
  uint32_t index() const { return index_; } // in its region
  bool operator==(const Value &other) const { return raw_ == other.raw_; }

  std::string_view name() const { return raw_->name ? raw_->name : ""; }
  int32_t dtype() const { return raw_->dtype; }
  int32_t rank() const { return raw_->rank; }
  std::span<const int64_t> dims() const { return {raw_->dims, static_cast<size_t>(raw_->rank)}; }
  // Of an axis, from the back when negative; Refusal when there is none.
  int64_t dim(int64_t axis) const { return raw_->dims[axisOf(axis, dims().size())]; }
  std::string_view layout() const { return raw_->layout ? raw_->layout : ""; } // "": row-major
  bool isStatic() const {
    return std::ranges::none_of(dims(), [](int64_t dim) { return dim < 0; });
  }
  bool isConstant() const { return raw_->data != nullptr; }
  bool isResident() const { return (raw_->flags & BYCC_VALUE_RESIDENT) != 0; }
  std::string typeText() const { return text(dtypeName(dtype()), dims()); }

  // Refusal where an extent is unknown.
  uint64_t elements() const {
    if (!isStatic())
      throw Refusal("an extent of ", dims(), " is unknown until run time");
    return count(dims());
  }
  uint64_t bytes() const { return elements() * dtypeBytes(dtype()); }
  // Elements of a constant, as they lie there; Refusal when it is none, or of something else.
  template <typename T> std::span<const T> constant() const {
    if (!isConstant())
      throw Refusal("it is not a constant");
    if (dtype() != dtypeOf<T>())
      throw Refusal("a constant of ", dtypeName(dtype()), ", wanted ", dtypeName(dtypeOf<T>()));
    if (raw_->bytes != bytes())
      throw Refusal("constant of ", raw_->bytes, " bytes for ", dims());
    return {static_cast<const T *>(raw_->data), elements()};
  }
  // Refusal of all but row-major tensors of these dtypes in the host's memory, of known extents
  // and at most this rank: what most devices take.
  void expectPlain(std::initializer_list<int32_t> dtypes, int32_t maxRank = INT32_MAX) const {
    if (std::find(dtypes.begin(), dtypes.end(), dtype()) == dtypes.end())
      throw Refusal("dtype ", dtypeName(dtype()), " is not supported");
    if (rank() > maxRank)
      throw Refusal("rank ", rank(), " is not supported, at most ", maxRank);
    if (!layout().empty())
      throw Refusal("layout ", layout(), " is not supported");
    if (raw_->device != 0)
      throw Refusal("device ", raw_->device, " is not supported");
    if (uint64_t size = bytes(); isConstant() && raw_->bytes != size)
      throw Refusal("constant of ", raw_->bytes, " bytes for ", dims());
  }
  // By axis: the entry of the region's table of extents, -1 where dims() says it or nothing does.
  std::vector<int32_t> extents() const {
    if (!raw_->extents)
      return std::vector<int32_t>(dims().size(), -1);
    return {raw_->extents, raw_->extents + raw_->rank};
  }
  const bycc_region *region() const { return region_; }

private:
  const bycc_value *raw_;
  const bycc_region *region_;
  uint32_t index_;
};

class Region;

// An operator or a composite, and its attributes.
class Node : public Attributes {
public:
  Node(const bycc_region *region, uint32_t index)
      : Node(region, index, bycc_node_at(region, index)) {}
  const bycc_node &raw() const { return *raw_; }
  uint32_t index() const { return index_; } // in its region
  std::string_view op() const { return raw_->op; }
  std::string_view source() const { return raw_->source ? raw_->source : ""; }
  // At compile(): which of those that were offered; "" when none was.
  std::string_view implementation() const {
    return raw_->implementation ? raw_->implementation : "";
  }
  List<Value> inputs() const { return {region_, raw_->num_inputs, raw_->inputs}; }
  List<Value> outputs() const { return {region_, raw_->num_outputs, raw_->outputs}; }
  // Refusal when there is none.
  Value input(uint32_t index) const { return one(inputs(), index, " operands"); }
  Value output(uint32_t index = 0) const { return one(outputs(), index, " results"); }
  // Elements of an operand that has to be a constant.
  template <typename T> std::span<const T> constant(uint32_t index) const {
    Value value = input(index);
    if (!value.isConstant())
      throw Refusal("operand ", index, " is not a constant");
    return value.constant<T>();
  }
  bool isComposite() const { return raw_->body != nullptr; }
  inline Region body() const; // of a composite
  // What a pattern gave this name to; null when nothing has it.
  const bycc_role *role(std::string_view name) const {
    for (uint32_t i = 0; i < raw_->num_roles; ++i)
      if (const bycc_role *role = bycc_role_at(raw_, i); name == role->name)
        return role;
    return nullptr;
  }
  // All operands and results: Value::expectPlain.
  void expectPlain(std::initializer_list<int32_t> dtypes, int32_t maxRank = INT32_MAX) const {
    for (const List<Value> &list : {inputs(), outputs()})
      for (Value value : list)
        value.expectPlain(dtypes, maxRank);
  }

private:
  Node(const bycc_region *region, uint32_t index, const bycc_node *raw)
      : Attributes(raw->attrs, raw->num_attrs), raw_(raw), region_(region), index_(index) {}
  static Value one(List<Value> list, uint32_t index, const char *what) {
    if (index >= list.size())
      throw Refusal(list.size(), what);
    return list[index];
  }
  const bycc_node *raw_;
  const bycc_region *region_;
  uint32_t index_;
};

class Region {
public:
  explicit Region(const bycc_region &raw) : raw_(&raw) {}
  const bycc_region &raw() const { return *raw_; }
  std::string_view symbol() const { return raw_->symbol ? raw_->symbol : ""; }
  List<Node> nodes() const { return {raw_, raw_->num_nodes}; } // operands are made first
  List<Value> values() const { return {raw_, raw_->num_values}; }
  List<Value> inputs() const { return {raw_, raw_->num_inputs, raw_->inputs}; }
  List<Value> outputs() const { return {raw_, raw_->num_outputs, raw_->outputs}; }
  // What tune() once answered; empty when nothing.
  std::span<const uint8_t> tuning() const {
    return {static_cast<const uint8_t *>(raw_->tuning), raw_->tuning ? raw_->tuning_bytes : 0};
  }
  bool isStatic() const { return std::ranges::all_of(values(), &Value::isStatic); }

private:
  const bycc_region *raw_;
};

inline Region Node::body() const { return Region(*raw_->body); }

// By value of a region: the node that makes it (`none`: none does), and how often it is read;
// outputs of the region count.
struct Uses {
  explicit Uses(Region region)
      : maker(region.values().size(), none), reads(region.values().size()) {
    for (Node node : region.nodes()) {
      for (Value value : node.inputs())
        ++reads[value.index()];
      for (Value value : node.outputs())
        maker[value.index()] = node.index();
    }
    for (Value value : region.outputs())
      ++reads[value.index()];
  }
  std::vector<uint32_t> maker, reads;
};

// Operators alone: composites are opened, and values have numbers of their own. What is inside a
// composite is seen with the operands that it has outside. Refusal where a body is not one.
class Flat {
public:
  struct Call {
    Node node;
    std::vector<uint32_t> inputs, outputs; // of `values`
    uint32_t place; // the node of the region that it is, or is in: whom to blame
  };
  explicit Flat(Region region) {
    Known known(region.values().size(), none);
    for (Value value : region.inputs())
      inputs.push_back(add(known, value));
    for (Node node : region.nodes())
      try {
        open(node, known, node.index(), 0);
      } catch (Refusal &refusal) {
        refusal.node = node.index();
        throw;
      }
    for (Value value : region.outputs())
      outputs.push_back(read(known, value));
  }
  // One node: its operands are the inputs, its results the outputs.
  explicit Flat(Node node) {
    Known known(bodyOrSelf(node), none);
    for (Value value : node.inputs())
      inputs.push_back(add(known, value));
    open(node, known, node.index(), 0);
    for (Value value : node.outputs())
      outputs.push_back(read(known, value));
  }
  std::vector<Value> values;
  std::vector<Call> calls; // operands are made first
  std::vector<uint32_t> inputs, outputs;
  Value input(const Call &call, uint32_t index) const {
    if (index >= call.inputs.size())
      throw Refusal(call.inputs.size(), " operands");
    return values[call.inputs[index]];
  }

private:
  using Known = std::vector<uint32_t>; // by value of a region
  static constexpr int maxDepth = 16;

  static uint32_t bodyOrSelf(Node node) {
    uint32_t size = 0;
    for (const List<Value> &list : {node.inputs(), node.outputs()})
      for (Value value : list)
        size = std::max(size, value.index() + 1);
    return size;
  }
  uint32_t add(Known &known, Value value) {
    uint32_t &number = known[value.index()];
    if (number == none) {
      number = static_cast<uint32_t>(values.size());
      values.push_back(value);
    }
    return number;
  }
  uint32_t read(Known &known, Value value) {
    if (known[value.index()] == none && !value.isConstant())
      throw Refusal("value ", value.index(), " is used before it is made");
    return add(known, value);
  }
  void open(Node node, Known &known, uint32_t place, int depth) {
    std::vector<uint32_t> operands;
    for (Value value : node.inputs())
      operands.push_back(read(known, value));
    if (node.isComposite())
      return openBody(node, operands, known, place, depth);
    Call call{node, std::move(operands), {}, place};
    for (Value value : node.outputs())
      call.outputs.push_back(add(known, value));
    calls.push_back(std::move(call));
  }
  void openBody(Node node, const std::vector<uint32_t> &operands, Known &known, uint32_t place,
                int depth) {
    Region body = node.body();
    if (depth >= maxDepth)
      throw Refusal("composites nest more than ", maxDepth, " deep");
    if (body.inputs().size() != operands.size() || body.outputs().size() != node.outputs().size())
      throw Refusal("composite with ", operands.size(), " operands and ", body.inputs().size(),
                    " parameters");
    Known inner(body.values().size(), none);
    for (uint32_t i = 0; i < operands.size(); ++i)
      inner[body.inputs()[i].index()] = operands[i];
    for (Node each : body.nodes())
      open(each, inner, place, depth + 1);
    for (uint32_t i = 0; i < node.outputs().size(); ++i)
      known[node.outputs()[i].index()] = read(inner, body.outputs()[i]);
  }
};

// --- extents of a run
//
// A region's extents that are known at run time only, as expressions over symbols: the run half
// keeps them in its blob and asks them for the extents of each run.
class Extents {
public:
  Extents() = default;
  explicit Extents(Region region) {
    const bycc_region &raw = region.raw();
    for (uint32_t i = 0; i < raw.num_extents; ++i)
      table_.push_back({raw.extents[i].op, raw.extents[i].lhs, raw.extents[i].rhs});
    for (uint32_t i = 0; i < raw.num_symbols; ++i) {
      const bycc_symbol &symbol = *bycc_symbol_at(&raw, i);
      symbols_.push_back({symbol.input, symbol.axis, symbol.likely});
    }
  }
  // What each entry of the table is with the inputs of a run, as it is likely to be, or for
  // symbols of your own. Failure for inputs that do not say it.
  Dims of(std::span<const bycc_array> inputs) const {
    Dims symbols;
    for (const Symbol &symbol : symbols_) {
      if (symbol.input < 0 || static_cast<size_t>(symbol.input) >= inputs.size() ||
          !inputs[static_cast<size_t>(symbol.input)].shape)
        throw Failure(BYCC_INTERNAL, "no input of the region has the extent of a symbol");
      symbols.push_back(inputs[static_cast<size_t>(symbol.input)].shape[symbol.axis]);
    }
    return of(symbols);
  }
  Dims likely() const {
    Dims symbols;
    for (const Symbol &symbol : symbols_)
      symbols.push_back(symbol.likely);
    return of(symbols);
  }
  Dims of(const Dims &symbols) const {
    Dims values;
    for (const Entry &entry : table_)
      values.push_back(valueOf(entry, symbols, values));
    return values;
  }
  // The extents of a value, by the values of the table.
  static Dims dims(Value value, const Dims &table) {
    Dims dims(value.dims().begin(), value.dims().end());
    std::vector<int32_t> entries = value.extents();
    for (size_t i = 0; i < dims.size(); ++i)
      if (entries[i] >= 0)
        dims[i] = table.at(static_cast<size_t>(entries[i]));
    return dims;
  }

private:
  struct Entry {
    int32_t op;
    int64_t lhs, rhs;
  };
  struct Symbol {
    int32_t input, axis;
    int64_t likely;
  };
  template <typename A> friend void fields(A &archive, Entry &entry) {
    archive(entry.op, entry.lhs, entry.rhs);
  }
  template <typename A> friend void fields(A &archive, Symbol &symbol) {
    archive(symbol.input, symbol.axis, symbol.likely);
  }
  template <typename A> friend void fields(A &archive, Extents &extents) {
    archive(extents.table_, extents.symbols_);
  }

  static int64_t valueOf(const Entry &entry, const Dims &symbols, const Dims &values) {
    auto at = [](const Dims &list, int64_t index) {
      if (index < 0 || static_cast<uint64_t>(index) >= list.size())
        throw Failure(BYCC_LOAD, "an extent of what does not stand before it");
      return list[static_cast<size_t>(index)];
    };
    if (entry.op == BYCC_EXTENT_CONST)
      return entry.lhs;
    if (entry.op == BYCC_EXTENT_SYMBOL)
      return at(symbols, entry.lhs);
    int64_t a = at(values, entry.lhs), b = at(values, entry.rhs), result = 0;
    bool isWrong = false;
    if (entry.op == BYCC_EXTENT_ADD)
      isWrong = __builtin_add_overflow(a, b, &result);
    else if (entry.op == BYCC_EXTENT_SUB)
      isWrong = __builtin_sub_overflow(a, b, &result);
    else if (entry.op == BYCC_EXTENT_MUL)
      isWrong = __builtin_mul_overflow(a, b, &result);
    else if (entry.op == BYCC_EXTENT_MIN)
      result = std::min(a, b);
    else if (entry.op == BYCC_EXTENT_MAX)
      result = std::max(a, b);
    else if (isWrong = b == 0 || (b == -1 && a == INT64_MIN); !isWrong) {
      int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0));
      result = entry.op == BYCC_EXTENT_FLOORDIV  ? floor
               : entry.op == BYCC_EXTENT_CEILDIV ? floor + (a % b != 0)
                                                 : a - floor * b;
      isWrong = entry.op > BYCC_EXTENT_MAX;
    }
    if (isWrong)
      throw Failure(BYCC_LOAD, "an extent that is no number");
    return result;
  }

  std::vector<Entry> table_;
  std::vector<Symbol> symbols_;
};

} // namespace bycc::vendor
