// The kit: vendor.h in C++20, and what is the same in every vendor. It is a header alone, and
// knows vendor.h and the standard library: a plugin that uses it links nothing, and promises and
// needs what one written on vendor.h does.
//
//   Region, Node, Value    what compile() is given; attributes by one set of rules (Attributes)
//   Flat, Uses, Extents    composites opened; who makes and reads a value; extents of a run
//   planArena, Memory      offsets for buffers that live for some steps each; for all values
//   Writer, Reader         blobs: one function says a format for both; a reader believes nothing
//   compilerTable          the table of a class with `supports` and `compile`
//   runtimeTable           the table of a class with `run`
//   relayText              a region as a program, for logs
//
// Errors are exceptions here, and never cross the boundary: the tables turn them into reasons and
// statuses. `Refusal` is a vendor's no, `Failure` a run half's error.
//
// Ownership: Region, Node, Value, Attributes and all texts and spans that they give are views of
// the caller's, valid for the call that they were given to, as vendor.h says. All else owns what
// it holds. Threads: everything may be used on any thread; objects are not locked.
#pragma once

#include "bycc/vendor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define BYCC_VENDOR_EXPORT extern "C" __attribute__((visibility("default")))

namespace bycc::vendor {

using Bytes = std::vector<uint8_t>;
using Dims = std::vector<int64_t>;
inline constexpr uint32_t none = UINT32_MAX;

// --- texts and errors

namespace detail {

inline void append(std::string &to, std::string_view part) { to += part; }
inline void append(std::string &to, const char *part) { to += part ? part : ""; }
inline void append(std::string &to, char part) { to += part; }
inline void append(std::string &to, bool part) { to += part ? "true" : "false"; }
template <typename T>
  requires std::is_arithmetic_v<T>
void append(std::string &to, T part) {
  char digits[64];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
}
// Extents: (1, ?, 3).
template <typename T, size_t n> void append(std::string &to, std::span<T, n> dims) {
  to += '(';
  for (size_t i = 0; i < dims.size(); ++i) {
    to += i ? ", " : "";
    if (dims[i] == static_cast<T>(-1))
      to += '?';
    else
      append(to, dims[i]);
  }
  to += ')';
}
template <typename T> void append(std::string &to, const std::vector<T> &dims) {
  append(to, std::span<const T>(dims));
}

} // namespace detail

// The parts behind each other: texts, numbers, vectors and spans of extents.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

// A vendor says no; `node` of the region is to blame, if one is. Short, what was found and what
// is wanted: users read it.
class Refusal : public std::runtime_error {
public:
  template <typename... Parts>
  explicit Refusal(const Parts &...parts) : std::runtime_error(text(parts...)) {}
  std::optional<uint32_t> node;
};

// What a run half, or a lack of memory, fails with.
class Failure : public std::runtime_error {
public:
  template <typename... Parts>
  explicit Failure(bycc_status code, const Parts &...parts)
      : std::runtime_error(text(parts...)), status(code) {}
  bycc_status status;
};

// --- element types

inline std::string_view dtypeName(int32_t dtype) {
  constexpr std::string_view names[] = {"bool",     "int8",    "int16",  "int32",  "int64",
                                        "uint8",    "uint16",  "uint32", "uint64", "float16",
                                        "bfloat16", "float32", "float64"};
  return dtype >= 0 && static_cast<size_t>(dtype) < std::size(names)
             ? names[static_cast<size_t>(dtype)]
             : "?";
}
// 0: not a dtype that this header knows.
inline uint64_t dtypeBytes(int32_t dtype) {
  constexpr uint8_t bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return dtype >= 0 && static_cast<size_t>(dtype) < std::size(bytes)
             ? bytes[static_cast<size_t>(dtype)]
             : 0;
}
template <typename T> constexpr int32_t dtypeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return BYCC_BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return BYCC_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return BYCC_FLOAT64;
  else {
    static_assert(std::is_integral_v<T>, "bool, an integer, float or double");
    return (std::is_signed_v<T> ? BYCC_INT8 : BYCC_UINT8) + std::countr_zero(sizeof(T));
  }
}

// Product of the extents, none of which may be unknown; Refusal beyond 2^60.
template <typename T> uint64_t count(const T &dims) {
  uint64_t product = 1;
  for (auto dim : dims)
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(dim), &product) || product >> 60 != 0)
      throw Refusal(std::span(dims), " has too many elements");
  return product;
}
// In elements.
template <typename T> std::vector<T> rowStrides(const std::vector<T> &dims) {
  std::vector<T> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}
// Counted from the front; Refusal when there is no such axis.
inline uint32_t axisOf(int64_t axis, size_t rank) {
  int64_t wrapped = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (wrapped < 0 || wrapped >= static_cast<int64_t>(rank))
    throw Refusal("axis ", axis, " is out of range for rank ", rank);
  return static_cast<uint32_t>(wrapped);
}

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

// --- memory

// A buffer that is in use from step `first` to step `last`; planArena gives it its offset.
struct Buffer {
  uint64_t bytes = 0;
  uint32_t first = none, last = 0;
  uint64_t offset = 0;
  bool isUsed() const { return first != none; }
  void use(uint32_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
};

inline constexpr uint64_t aligned(uint64_t bytes, uint64_t alignment = 64) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Offsets for the buffers that are used, so that none of two that live at the same time share a
// byte; largest first, each at the lowest offset that is free for its life. The answer is the
// size of all.
inline uint64_t planArena(std::span<Buffer> buffers, uint64_t alignment = 64) {
  std::vector<Buffer *> order, placed; // by offset
  for (Buffer &buffer : buffers)
    if (buffer.isUsed())
      order.push_back(&buffer);
  std::ranges::sort(order, [](const Buffer *a, const Buffer *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  uint64_t size = 0;
  for (Buffer *buffer : order) {
    uint64_t bytes = aligned(buffer->bytes, alignment);
    buffer->offset = 0;
    for (const Buffer *other : placed) {
      if (other->last < buffer->first || buffer->last < other->first)
        continue;
      if (other->offset >= buffer->offset + bytes)
        break;
      buffer->offset = std::max(buffer->offset, other->offset + aligned(other->bytes, alignment));
    }
    size = std::max(size, buffer->offset + bytes);
    placed.insert(std::ranges::upper_bound(placed, buffer->offset, {}, &Buffer::offset), buffer);
  }
  return size;
}

// --- blobs
//
// A struct says once, for both directions, what is written of it:
//
//   enum class Kind : uint8_t { Add, Relu, count };
//   struct Step {
//     Kind kind = Kind::Add;
//     std::string name;
//     std::vector<uint32_t> inputs;
//     auto members() { return std::tie(kind, name, inputs); }
//   };
//   constexpr Format format = {"NPU region", 3};
//   Bytes blob = write(format, steps);
//   auto steps = read<std::vector<Step>>(format, blob);
//
// or with a function `fields(archive, struct)`, found by its argument, where more than members is
// to be said: archive(members...), archive.choice(enum, end). Numbers, bools, enums that end with
// `count`, texts, vectors, arrays, optionals and such structs are written, little-endian on every
// machine.
//
// A blob begins with its format and version and a checksum: damage is found before anything is
// read. The reader checks bounds all the same, and a list has no more items than what is left of
// the blob has bytes; whether numbers mean something (an index is in range) is for the vendor to
// check.

struct Format {
  const char *name; // "NPU region": for messages, and to tell formats apart
  uint32_t version;
};

namespace detail {

// A change of any one word changes the sum.
inline uint64_t checksum(std::span<const uint8_t> bytes, uint64_t sum) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
  }
  return (sum ^ bytes.size()) * 0xff51afd7ed558ccdu;
}

inline constexpr size_t headBytes = 16; // 32 bits of the format's name, version, checksum

inline uint32_t nameBits(const char *name) {
  std::span<const uint8_t> letters(reinterpret_cast<const uint8_t *>(name), std::strlen(name));
  return static_cast<uint32_t>(checksum(letters, 0) >> 32);
}

template <typename T> struct IsArray : std::false_type {};
template <typename T, size_t n> struct IsArray<std::array<T, n>> : std::true_type {};
template <typename T> struct IsOptional : std::false_type {};
template <typename T> struct IsOptional<std::optional<T>> : std::true_type {};

// What both directions have in common; `Self` has bytes(data, size) and length(size, each).
template <typename Self> class Archive {
public:
  template <typename... Items> void operator()(Items &...items) { (one(items), ...); }
  // An enumerator below `end`.
  template <typename E> void choice(E &value, E end) {
    auto raw = static_cast<std::underlying_type_t<E>>(value);
    number(raw);
    if (raw < 0 || raw >= static_cast<std::underlying_type_t<E>>(end))
      self().fail("a choice that there is not");
    value = static_cast<E>(raw);
  }

  // Items that `each` writes and reads.
  template <typename T, typename Each> void list(std::vector<T> &items, Each each) {
    uint64_t size = items.size();
    self().length(size, 1);
    if constexpr (Self::isReader)
      items.clear(); // they grow with what is read: a short blob asks for little memory
    for (uint64_t i = 0; i < size; ++i) {
      if constexpr (Self::isReader)
        items.emplace_back();
      each(items[i]);
    }
  }

private:
  Self &self() { return static_cast<Self &>(*this); }

  template <typename T> void one(T &item) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t raw = item;
      number(raw);
      if (raw > 1)
        self().fail("a bool that is neither");
      item = raw != 0;
    } else if constexpr (std::is_integral_v<T>) {
      number(item);
    } else if constexpr (std::is_floating_point_v<T>) {
      auto bits = std::bit_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(item);
      number(bits);
      item = std::bit_cast<T>(bits);
    } else if constexpr (IsArray<T>::value) {
      for (auto &each : item)
        one(each);
    } else if constexpr (IsOptional<T>::value) {
      bool is = item.has_value();
      one(is);
      if (is && !item)
        item.emplace();
      else if (!is)
        item.reset();
      if (is)
        one(*item);
    } else if constexpr (requires { item.emplace_back(); }) {
      if constexpr (std::is_integral_v<typename T::value_type> &&
                    sizeof(typename T::value_type) == 1)
        block(item);
      else
        list(item, [this](auto &each) { one(each); });
    } else if constexpr (std::is_same_v<T, std::string>) {
      block(item);
    } else if constexpr (std::is_enum_v<T>) {
      choice(item, T::count);
    } else if constexpr (requires { item.members(); }) {
      std::apply([&](auto &...members) { (one(members), ...); }, item.members());
    } else {
      fields(self(), item);
    }
  }

  // Texts and bytes.
  template <typename T> void block(T &items) {
    uint64_t size = items.size();
    self().length(size, 1);
    if constexpr (Self::isReader)
      items.resize(size);
    self().bytes(items.data(), size);
  }

  template <typename T> void number(T &value) {
    uint8_t raw[sizeof(T)];
    auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (size_t i = 0; i < sizeof(T); ++i)
      raw[i] = static_cast<uint8_t>(bits >> 8 * i);
    self().bytes(raw, sizeof(T));
    bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      bits = static_cast<std::make_unsigned_t<T>>(
          bits | static_cast<std::make_unsigned_t<T>>(raw[i]) << 8 * i);
    value = static_cast<T>(bits);
  }
};

} // namespace detail

class Writer : public detail::Archive<Writer> {
public:
  static constexpr bool isReader = false;
  explicit Writer(Format format) : format_(format), bytes_(detail::headBytes) {}
  // The blob; the writer is done.
  Bytes take() {
    uint64_t sum = detail::checksum(std::span(bytes_).subspan(detail::headBytes), format_.version);
    uint64_t head = detail::nameBits(format_.name) | uint64_t{format_.version} << 32;
    for (size_t i = 0; i < 8; ++i) {
      bytes_[i] = static_cast<uint8_t>(head >> 8 * i);
      bytes_[8 + i] = static_cast<uint8_t>(sum >> 8 * i);
    }
    return std::move(bytes_);
  }

private:
  friend class detail::Archive<Writer>;
  void bytes(const void *data, size_t size) {
    auto from = static_cast<const uint8_t *>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  void length(uint64_t &size, size_t) { (*this)(size); }
  void fail(const char *what) { throw Failure(BYCC_INTERNAL, format_.name, " would hold ", what); }

  Format format_;
  Bytes bytes_;
};

// Failure LOAD for bytes that a Writer of this format has not made.
class Reader : public detail::Archive<Reader> {
public:
  static constexpr bool isReader = true;
  Reader(Format format, std::span<const uint8_t> blob) : format_(format), left_(blob) {
    if (blob.size() < detail::headBytes || word(0, 4) != detail::nameBits(format.name))
      throw Failure(BYCC_LOAD, "no ", format.name);
    if (uint64_t version = word(4, 4); version != format.version)
      throw Failure(BYCC_LOAD, format.name, " of version ", version, ", wanted ", format.version,
                    ": compile the model again");
    uint64_t sum = word(8, 8);
    left_ = left_.subspan(detail::headBytes);
    if (sum != detail::checksum(left_, format.version))
      fail("its checksum differs");
  }
  bool isAtEnd() const { return left_.empty(); }
  // All of it must have been read.
  void finish() {
    if (!left_.empty())
      fail("there is more than belongs to it");
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw Failure(BYCC_LOAD, format_.name, " is damaged: ", what);
  }

private:
  friend class detail::Archive<Reader>;
  uint64_t word(size_t at, size_t size) const {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= uint64_t{left_[at + i]} << 8 * i;
    return value;
  }
  void bytes(void *data, size_t size) {
    if (size > left_.size())
      fail("its end is missing");
    if (size > 0)
      std::memcpy(data, left_.data(), size);
    left_ = left_.subspan(size);
  }
  // Each item takes at least `each` bytes.
  void length(uint64_t &size, size_t each) {
    (*this)(size);
    if (size > left_.size() / each)
      fail("a list is longer than it");
  }

  Format format_;
  std::span<const uint8_t> left_;
};

// Does a blob say that it is of this format, of any version?
inline bool isOf(Format format, std::span<const uint8_t> blob) {
  uint32_t name = 0;
  for (size_t i = 0; i < 4 && i < blob.size(); ++i)
    name |= uint32_t{blob[i]} << 8 * i;
  return blob.size() >= detail::headBytes && name == detail::nameBits(format.name);
}

template <typename T> Bytes write(Format format, const T &object) {
  Writer writer(format);
  writer(const_cast<T &>(object)); // one function for both directions; a writer changes nothing
  return writer.take();
}
template <typename T> T read(Format format, std::span<const uint8_t> blob) {
  Reader reader(format, blob);
  T object{};
  reader(object);
  reader.finish();
  return object;
}

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

// --- tables

// What both halves say of a vendor. Texts and options outlive the tables.
struct About {
  const char *name;
  const char *version; // see bycc_vendor_compiler and bycc_vendor_runtime, as for all of these
  const char *library = nullptr;
  const char *patterns = nullptr;
  const char *operators = nullptr;
  const char *passes = nullptr;
  const char *reads = nullptr;
  uint64_t flags = 0;
  std::span<const bycc_vendor_option> options = {};
};

// What a compile half is asked, and where its answers go.
class Question {
public:
  Question(const bycc_target &asked, const bycc_region &about, bycc_answer &answer)
      : region(about), target(asked), options(asked.options, asked.num_options), answer_(answer) {}
  const Region region;
  const bycc_target &target;
  const Attributes options;

  Node node() const { return region.nodes()[0]; } // of supports()
  // See bycc_answer.
  void offer(const char *implementation, double microseconds) const {
    answer_.offer(&answer_, implementation, microseconds);
  }
  void take(Node node, uint32_t group = 0) const { answer_.take(&answer_, node.index(), group); }
  void refuse(Node node, const char *why) const { answer_.refuse(&answer_, node.index(), why); }
  // Zeroed and 64-byte aligned; Refusal when there is no memory.
  std::span<uint8_t> weights(uint64_t bytes) const {
    void *memory =
        BYCC_HAS(&answer_, weights) && answer_.weights ? answer_.weights(&answer_, bytes) : nullptr;
    if (!memory)
      throw Refusal("no memory for ", bytes, " bytes of weights");
    return {static_cast<uint8_t *>(memory), bytes};
  }

private:
  bycc_answer &answer_;
};

// What the body refuses is this node's fault, unless another one was blamed before.
template <typename Body> auto blaming(uint32_t node, Body body) {
  try {
    return body();
  } catch (Refusal &refusal) {
    if (!refusal.node)
      refusal.node = node;
    throw;
  }
}
template <typename Body> auto blaming(Node node, Body body) { return blaming(node.index(), body); }

namespace detail {

// The door of the compile half.
template <typename Body> bool answered(bycc_answer *answer, Body body) {
  auto tell = [&](const char *reason, std::optional<uint32_t> node) {
    if (answer->reason)
      answer->reason(answer, reason);
    if (answer->blame && node)
      answer->blame(answer, *node);
    return false;
  };
  try {
    body();
    return true;
  } catch (const Refusal &refusal) {
    return tell(refusal.what(), refusal.node);
  } catch (const std::bad_alloc &) {
    return tell("not enough memory", {});
  } catch (const std::exception &fault) {
    return tell(fault.what(), {});
  }
}

template <typename Half, auto ask>
int32_t answerWithBytes(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  return answered(answer,
                  [&] {
                    Question question(*target, *region, *answer);
                    Bytes bytes = ask(*static_cast<Half *>(self), question);
                    answer->blob(answer, bytes.data(), bytes.size());
                  })
             ? 0
             : 1;
}

} // namespace detail

// The table of a compile half: a class with
//   void supports(const Question &)   returns: yes, Refusal: no; it may offer
//   Bytes compile(const Question &)
// and, if it likes, `void annotate(const Question &)` and `Bytes tune(const Question &)`. They are
// called one at a time. `half` outlives the table.
template <typename Half> bycc_vendor_compiler compilerTable(const About &about, Half &half) {
  bycc_vendor_compiler table{};
  table.abi_version = BYCC_VENDOR_ABI_VERSION;
  table.size = sizeof table;
  table.name = about.name;
  table.version = about.version;
  table.library = about.library;
  table.patterns = about.patterns;
  table.operators = about.operators;
  table.passes = about.passes;
  table.flags = about.flags;
  table.num_options = about.options.size();
  table.options = about.options.data();
  table.self = &half;
  table.supports = [](void *self, const bycc_target *target, const bycc_region *region,
                      bycc_answer *answer) -> int32_t {
    return detail::answered(answer, [&] {
      if (region->num_nodes == 0)
        throw Refusal("no node");
      static_cast<Half *>(self)->supports(Question(*target, *region, *answer));
    });
  };
  table.compile = detail::answerWithBytes<Half, [](Half &half, Question &question) -> Bytes {
    return half.compile(question);
  }>;
  if constexpr (requires(Question question) { half.annotate(question); })
    table.annotate = [](void *self, const bycc_target *target, const bycc_region *block,
                        bycc_answer *answer) -> int32_t {
      return !detail::answered(
          answer, [&] { static_cast<Half *>(self)->annotate(Question(*target, *block, *answer)); });
    };
  if constexpr (requires(Question question) { half.tune(question); })
    table.tune = detail::answerWithBytes<Half, [](Half &half, Question &question) -> Bytes {
      return half.tune(question);
    }>;
  return table;
}

// Calls body(first, last) for parts of [0, count) on up to `threads` threads of the pool; nothing
// that it throws may leave it. Without a pool: one call, here.
template <typename Body>
void share(const bycc_thread_pool *pool, size_t threads, size_t count, const Body &body) {
  constexpr size_t stretchesPerThread = 4;
  threads = pool ? std::min(threads, count) : 1;
  if (threads <= 1)
    return body(size_t{0}, count);
  struct Work {
    const Body &body;
    size_t count, stretch;
    std::atomic<size_t> next{0};
  } work{body, count, std::max<size_t>(1, count / (threads * stretchesPerThread))};
  auto run = [](void *closure) {
    Work &work = *static_cast<Work *>(closure);
    for (size_t first;
         (first = work.next.fetch_add(work.stretch, std::memory_order_relaxed)) < work.count;)
      work.body(first, std::min(first + work.stretch, work.count));
  };
  pool->run(static_cast<uint32_t>(threads), run, &work);
}

// What the constructor of a run half's region is given.
class Load {
public:
  Load(const bycc_vendor_context *where, const bycc_region_load &what)
      : raw(what), blob(what.blob, what.blob_bytes),
        weights(what.weights, what.weights ? what.weights_bytes : 0), context_(where) {}
  const bycc_region_load &raw;
  const std::span<const uint8_t> blob, weights; // weights: as long as the region
  int32_t threads() const { return raw.threads; }
  std::string_view symbol() const { return raw.symbol ? raw.symbol : ""; }
  const bycc_tensor &input(uint32_t index) const { return *bycc_tensor_at(raw.inputs, index); }
  const bycc_tensor &output(uint32_t index) const { return *bycc_tensor_at(raw.outputs, index); }
  template <typename Context> Context &context() const {
    return *static_cast<Context *>(context_->impl);
  }
  const bycc_thread_pool *pool() const { return context_->threads; }

  // Failure where the model has other numbers of inputs and outputs, ...
  void expectTensors(size_t inputs, size_t outputs) const {
    if (inputs != raw.num_inputs || outputs != raw.num_outputs)
      throw Failure(BYCC_LOAD, "the region has ", inputs, " inputs and ", outputs,
                    " outputs, the model says ", raw.num_inputs, " and ", raw.num_outputs);
  }
  // ... another size of one, ...
  static void expectBytes(const bycc_tensor &tensor, uint64_t bytes) {
    if (tensor.bytes != bytes)
      throw Failure(BYCC_LOAD, "the region has a tensor of ", bytes, " bytes, the model says ",
                    tensor.bytes);
  }
  // ... or less weights.
  std::span<const uint8_t> weightsAt(uint64_t offset, uint64_t bytes) const {
    if (offset > weights.size() || bytes > weights.size() - offset)
      throw Failure(BYCC_LOAD, "the region reads ", bytes, " bytes of weights at ", offset,
                    ", the model has ", weights.size());
    return weights.subspan(offset, bytes);
  }

private:
  const bycc_vendor_context *context_;
};

// What `run` is given.
class Run {
public:
  Run(const bycc_vendor_context *where, const bycc_region_run &what, uint8_t *lent)
      : raw(what), scratch(lent), context_(where) {}
  const bycc_region_run &raw;
  uint8_t *const scratch; // scratchBytes() of the region; 64-byte aligned, kept between runs
  int32_t threads() const { return raw.threads; }
  template <typename T = void> const T *input(uint32_t index) const {
    return static_cast<const T *>(raw.inputs[index].data);
  }
  template <typename T = void> T *output(uint32_t index) const {
    return static_cast<T *>(raw.outputs[index].data);
  }
  template <typename Context> Context &context() const {
    return *static_cast<Context *>(context_->impl);
  }
  const bycc_thread_pool *pool() const { return context_->threads; }
  // Does it, and adds the time that it takes to that of the step, where steps are timed.
  template <typename Body> void step(size_t index, Body body) const {
    if (!raw.step_ns)
      return body();
    auto begin = std::chrono::steady_clock::now();
    body();
    auto took = std::chrono::steady_clock::now() - begin;
    raw.step_ns[index] +=
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }

private:
  const bycc_vendor_context *context_;
};

// Where the values of a region are in a run, for devices that work in the host's memory: the run
// half keeps it in its blob. Results lie where they leave the region, else in scratch memory that
// is shared by those that are not needed at the same time.
class Memory {
public:
  Memory() = default;
  // Nodes run in their order. Refusal where an extent is unknown. Not with
  // BYCC_VENDOR_OWN_MEMORY or BYCC_VENDOR_OWN_WEIGHTS.
  explicit Memory(Region region) {
    for (Value value : region.values())
      places_.push_back({value.isConstant() ? Where::Weights : Where::Scratch,
                         value.raw().weights_offset, value.bytes()});
    for (Value value : region.inputs())
      places_[value.index()] = {Where::Input, numInputs_++, value.bytes()};
    for (Value value : region.outputs()) {
      Place &place = places_[value.index()];
      if (place.where == Where::Scratch)
        place = {Where::Output, outputs_.size(), place.bytes};
      outputs_.push_back(value.index());
    }
    placeScratch(region);
  }
  uint64_t scratchBytes() const {
    return scratchBytes_;
  } // what the region's scratchBytes() answers

  // In the region's constructor. Failure unless all of it is there.
  void bind(const Load &load) {
    load.expectTensors(numInputs_, outputs_.size());
    weights_ = load.weights.data();
    for (const Place &place : places_) {
      bool isTensor = place.where == Where::Input || place.where == Where::Output;
      uint64_t end = place.where == Where::Input ? numInputs_ : outputs_.size();
      if ((isTensor && place.at >= end) ||
          (place.where == Where::Scratch &&
           (place.at > scratchBytes_ || place.bytes > scratchBytes_ - place.at)))
        throw Failure(BYCC_LOAD, "a value of the region lies nowhere");
      if (place.where == Where::Weights)
        load.weightsAt(place.at, place.bytes);
      else if (place.where == Where::Input)
        Load::expectBytes(load.input(static_cast<uint32_t>(place.at)), place.bytes);
    }
    for (uint32_t i = 0; i < outputs_.size(); ++i)
      Load::expectBytes(load.output(i), bytes(outputs_[i]));
  }
  // Failure when there is no such value: check in the constructor what run() will ask for.
  uint64_t bytes(uint32_t value) const {
    if (value >= places_.size())
      throw Failure(BYCC_LOAD, "the region has no value ", value);
    return places_[value].bytes;
  }
  // Inputs and constants are only read.
  template <typename T = void> T *at(const Run &run, uint32_t value) const {
    const Place &place = places_[value];
    auto number = static_cast<uint32_t>(place.at);
    switch (place.where) {
    case Where::Input:
      return static_cast<T *>(const_cast<void *>(run.input(number)));
    case Where::Output:
      return static_cast<T *>(run.output(number));
    case Where::Weights:
      return reinterpret_cast<T *>(const_cast<uint8_t *>(weights_ + place.at));
    default:
      return reinterpret_cast<T *>(run.scratch + place.at);
    }
  }
  // At the end of a run: outputs that are inputs, constants, or other outputs.
  void finish(const Run &run) const {
    for (uint32_t i = 0; i < outputs_.size(); ++i)
      if (const void *from = at(run, outputs_[i]); from != run.output(i) && bytes(outputs_[i]) > 0)
        std::memcpy(run.output(i), from, bytes(outputs_[i]));
  }
  auto members() { return std::tie(places_, outputs_, numInputs_, scratchBytes_); }

private:
  enum class Where : uint8_t { Input, Output, Weights, Scratch, count };
  struct Place {
    Where where = Where::Scratch;
    uint64_t at = 0, bytes = 0; // which input or output; else an offset
    auto members() { return std::tie(where, at, bytes); }
  };

  void placeScratch(Region region) {
    std::vector<Buffer> buffers(places_.size());
    for (Node node : region.nodes())
      for (const List<Value> &list : {node.inputs(), node.outputs()})
        for (Value value : list)
          if (const Place &place = places_[value.index()]; place.where == Where::Scratch) {
            buffers[value.index()].use(node.index());
            buffers[value.index()].bytes = place.bytes;
          }
    scratchBytes_ = planArena(buffers);
    for (size_t i = 0; i < places_.size(); ++i)
      if (buffers[i].isUsed())
        places_[i].at = buffers[i].offset;
      else if (places_[i].where == Where::Scratch)
        places_[i].bytes = 0; // nothing makes or reads it
  }

  std::vector<Place> places_;     // by value
  std::vector<uint32_t> outputs_; // values
  uint32_t numInputs_ = 0;
  uint64_t scratchBytes_ = 0;
  const uint8_t *weights_ = nullptr;
};

// A step for --profile. The texts are the vendor's.
inline bycc_step_info stepInfo(const char *name, const char *detail, const char *source,
                               double flops = 0) {
  bycc_step_info info{};
  info.size = sizeof info;
  info.name = name;
  info.detail = detail;
  info.source = source;
  info.flops = flops;
  return info;
}

namespace detail {

// The door of the run half.
template <typename Body>
int32_t guarded(char *error, size_t size, bycc_status otherwise, Body body) {
  auto tell = [&](const char *text, bycc_status status) {
    if (error && size > 0) {
      size_t length = std::min(size - 1, std::strlen(text));
      std::memcpy(error, text, length);
      error[length] = 0;
    }
    return status;
  };
  try {
    body();
    return BYCC_OK;
  } catch (const Failure &failure) {
    return tell(failure.what(), failure.status);
  } catch (const std::bad_alloc &) {
    return tell("not enough memory", BYCC_LIMIT);
  } catch (const std::exception &fault) {
    return tell(fault.what(), otherwise);
  }
}

struct NoState {};
template <typename Region> struct StateOf {
  using type = NoState;
};
template <typename Region>
  requires requires { typename Region::State; }
struct StateOf<Region> {
  using type = typename Region::State;
};

// The functions of a run half's table. The memory of a state is a State, then the scratch memory.
template <typename Region> struct RunHalf {
  using State = typename StateOf<Region>::type;
  static constexpr bool hasState = !std::is_same_v<State, NoState>;
  static constexpr uint64_t stateEnd = hasState ? aligned(sizeof(State)) : 0;
  static_assert(alignof(State) <= 64);

  static int32_t load(const bycc_vendor_context *context, const bycc_region_load *load,
                      void **region, char *error, size_t size) {
    return guarded(error, size, BYCC_LOAD, [&] { *region = new Region(Load(context, *load)); });
  }
  static void unload(const bycc_vendor_context *, void *region) {
    delete static_cast<Region *>(region);
  }
  static uint64_t stateBytes(const bycc_vendor_context *, void *handle) {
    if constexpr (requires(Region &region) { region.scratchBytes(); })
      return stateEnd + static_cast<Region *>(handle)->scratchBytes();
    return (void)handle, stateEnd;
  }
  static int32_t initState(const bycc_vendor_context *, void *handle, void *state,
                           int32_t threads) {
    return guarded(nullptr, 0, BYCC_INTERNAL, [&] {
      if constexpr (std::is_constructible_v<State, Region &, int32_t, uint8_t *>)
        new (state) State(*static_cast<Region *>(handle), threads,
                          static_cast<uint8_t *>(state) + stateEnd);
      else if constexpr (hasState)
        new (state) State(*static_cast<Region *>(handle), threads);
      (void)handle, (void)state, (void)threads;
    });
  }
  static void dropState(const bycc_vendor_context *, void *, void *state) {
    if constexpr (hasState)
      static_cast<State *>(state)->~State();
    (void)state;
  }
  static int32_t run(const bycc_vendor_context *context, void *handle, void *state,
                     const bycc_region_run *what, char *error, size_t size) {
    return guarded(error, size, BYCC_INTERNAL, [&] {
      Run run(context, *what, static_cast<uint8_t *>(state) + stateEnd);
      if constexpr (hasState)
        static_cast<Region *>(handle)->run(run, *static_cast<State *>(state));
      else
        static_cast<Region *>(handle)->run(run);
    });
  }
};

template <typename Context> void addContext(bycc_vendor_runtime &table) {
  table.open = [](bycc_vendor_context *context, char *error, size_t size) -> int32_t {
    return guarded(error, size, BYCC_INTERNAL, [&] { context->impl = new Context(*context); });
  };
  table.close = [](bycc_vendor_context *context) { delete static_cast<Context *>(context->impl); };
  if constexpr (requires(Context &context, const bycc_tensor &tensor, void *memory) {
                  { context.alloc(tensor) } -> std::convertible_to<void *>;
                  context.release(memory);
                }) {
    table.alloc = [](const bycc_vendor_context *context, const bycc_tensor *tensor) -> void * {
      return static_cast<Context *>(context->impl)->alloc(*tensor);
    };
    table.release = [](const bycc_vendor_context *context, void *memory) {
      static_cast<Context *>(context->impl)->release(memory);
    };
  }
}

} // namespace detail

// The table of a run half: a class with
//   explicit Region(const Load &)    what all runs share
//   void run(const Run &)            at the same time in several threads
// and, if it likes,
//   class State                      of one run at a time: State(Region &, int32_t threads), or
//                                    with uint8_t *scratch behind; then run(const Run &, State &)
//   uint64_t scratchBytes()          memory of one run at a time: Run::scratch
//   std::span<const bycc_step_info> steps()     for --profile: Run::step(index, body)
//   class Context                    what regions work in: Context(const bycc_vendor_context &),
//                                    Load::context<Context>(); with `void *alloc(const bycc_tensor
//                                    &)` and `release(void *)`, which throw nothing: memory of its
//                                    own
template <typename Region> bycc_vendor_runtime runtimeTable(const About &about) {
  using Half = detail::RunHalf<Region>;
  bycc_vendor_runtime table{};
  table.abi_version = BYCC_VENDOR_ABI_VERSION;
  table.size = sizeof table;
  table.name = about.name;
  table.version = about.version;
  table.library = about.library;
  table.reads = about.reads;
  table.num_options = about.options.size();
  table.options = about.options.data();
  table.load = Half::load;
  table.unload = Half::unload;
  table.state_bytes = Half::stateBytes;
  table.init_state = Half::initState;
  table.drop_state = Half::dropState;
  table.run = Half::run;
  if constexpr (requires { typename Region::Context; })
    detail::addContext<typename Region::Context>(table);
  if constexpr (requires(Region &region) { region.steps(); }) {
    table.num_steps = [](const bycc_vendor_context *, void *region) {
      return static_cast<uint32_t>(static_cast<Region *>(region)->steps().size());
    };
    table.step = [](const bycc_vendor_context *, void *region,
                    uint32_t index) -> const bycc_step_info * {
      std::span<const bycc_step_info> steps = static_cast<Region *>(region)->steps();
      return index < steps.size() ? &steps[index] : nullptr;
    };
  }
  return table;
}

// An option for About::options.
inline constexpr bycc_vendor_option option(bycc_attr_kind kind, const char *name, const char *value,
                                           const char *help, const char *choices = nullptr,
                                           uint64_t flags = 0) {
  return {sizeof(bycc_vendor_option), kind, name, value, choices, help, flags};
}

// The entry points of a plugin.
#define BYCC_VENDOR_COMPILER(Half, about)                                                          \
  BYCC_VENDOR_EXPORT const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {                \
    static Half half;                                                                              \
    static const bycc_vendor_compiler table = bycc::vendor::compilerTable(about, half);            \
    return &table;                                                                                 \
  }
#define BYCC_VENDOR_RUNTIME(Region, about)                                                         \
  BYCC_VENDOR_EXPORT const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {                  \
    static const bycc_vendor_runtime table = bycc::vendor::runtimeTable<Region>(about);            \
    return &table;                                                                                 \
  }

// --- a region as a program
//
// Relay text that bycc reads, composites opened: for logs, and to run what a region computes
// elsewhere. Large constants, and all of float16 and bfloat16, become parameters.

namespace detail {

class RelayPrinter {
public:
  explicit RelayPrinter(Region region) : flat_(region), names_(flat_.values.size()) {}

  std::string print() {
    std::string parameters, body, results;
    uint32_t numParameters = 0;
    auto parameter = [&](uint32_t value) {
      names_[value] = text("%p", numParameters++);
      parameters +=
          text(parameters.empty() ? "" : ", ", names_[value], ": ", type(flat_.values[value]));
    };
    for (uint32_t value : flat_.inputs)
      if (names_[value].empty())
        parameter(value);
    for (const Flat::Call &call : flat_.calls)
      for (uint32_t value : call.inputs)
        if (names_[value].empty() && flat_.values[value].isConstant() && !literal(value))
          parameter(value);
    for (const Flat::Call &call : flat_.calls)
      body += line(call);
    for (uint32_t value : flat_.outputs)
      results += text(results.empty() ? "" : ", ", nameOf(value));
    if (flat_.outputs.size() != 1)
      results = text("(", results, ")");
    return text("#[version = \"0.0.5\"]\ndef @main(", parameters, ") {\n", body, "  ", results,
                "\n}\n");
  }

private:
  static constexpr uint64_t maxLiteral = 64;

  static std::string type(Value value) {
    std::string dims = text(value.dims());
    return text("Tensor[", dims, ", ", dtypeName(value.dtype()), value.layout().empty() ? "" : ", ",
                value.layout(), "]");
  }

  // Sets the name to the constant itself, if it is short.
  bool literal(uint32_t id) {
    Value value = flat_.values[id];
    if (value.elements() > maxLiteral || value.dtype() == BYCC_FLOAT16 ||
        value.dtype() == BYCC_BFLOAT16 || !value.layout().empty())
      return false;
    std::string items;
    for (uint64_t i = 0; i < value.elements(); ++i)
      items += text(i ? ", " : "", element(value, i));
    names_[id] = text(type(value), "[", items, "]");
    return true;
  }
  template <typename T> static std::string number(const void *data, uint64_t index) {
    T item;
    std::memcpy(&item, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
    return text(item);
  }
  static std::string element(Value value, uint64_t i) {
    const void *data = value.raw().data;
    switch (value.dtype()) {
    case BYCC_BOOL:
      return static_cast<const uint8_t *>(data)[i] ? "true" : "false";
    case BYCC_INT8:
      return text(int{static_cast<const int8_t *>(data)[i]});
    case BYCC_UINT8:
      return text(int{static_cast<const uint8_t *>(data)[i]});
    case BYCC_INT16:
      return number<int16_t>(data, i);
    case BYCC_UINT16:
      return number<uint16_t>(data, i);
    case BYCC_INT32:
      return number<int32_t>(data, i);
    case BYCC_UINT32:
      return number<uint32_t>(data, i);
    case BYCC_INT64:
      return number<int64_t>(data, i);
    case BYCC_UINT64:
      return number<uint64_t>(data, i);
    case BYCC_FLOAT32:
      return number<float>(data, i);
    default:
      return number<double>(data, i);
    }
  }

  std::string nameOf(uint32_t value) {
    if (names_[value].empty() && !literal(value))
      throw Refusal("value ", value, " is used before it is made");
    return names_[value];
  }
  std::string line(const Flat::Call &call) {
    std::string operands, name = text("%", numLines_++);
    for (uint32_t value : call.inputs)
      operands += text(operands.empty() ? "" : ", ", nameOf(value));
    // Operands that are one tuple in the program.
    std::string_view op = call.node.op();
    if (op == "concatenate" || op == "stack" || op == "einsum")
      operands = text("(", operands, call.inputs.size() == 1 ? ",)" : ")");
    for (uint32_t i = 0; i < call.node.size(); ++i)
      if (const bycc_attr &attr = call.node.at(i); attr.kind != BYCC_ATTR_NONE)
        operands += text(operands.empty() ? "" : ", ", attr.name, "=", attribute(attr));
    for (size_t i = 0; i < call.outputs.size(); ++i)
      names_[call.outputs[i]] = call.outputs.size() == 1 ? name : text(name, ".", i);
    return text("  ", name, " = ", op, "(", operands, ");\n");
  }
  static std::string attribute(const bycc_attr &attr) {
    std::string items;
    switch (attr.kind) {
    case BYCC_ATTR_BOOL:
      return attr.i ? "True" : "False";
    case BYCC_ATTR_INT:
      return text(attr.i);
    case BYCC_ATTR_FLOAT:
      return text(attr.f, "f");
    case BYCC_ATTR_STRING:
      return text("\"", attr.s, "\"");
    case BYCC_ATTR_LIST:
      for (uint32_t i = 0; i < attr.count; ++i)
        items += text(i ? ", " : "", attribute(*bycc_item_at(&attr, i)));
      return text("[", items, "]");
    default:
      return "None";
    }
  }

  Flat flat_;
  std::vector<std::string> names_; // by value
  uint32_t numLines_ = 0;
};

} // namespace detail

// Refusal where a region is not one (Flat).
inline std::string relayText(Region region) { return detail::RelayPrinter(region).print(); }

} // namespace bycc::vendor
