#include "Primitives.h"

#include <cmath>

namespace floor_bench {

namespace {

using dnnl::algorithm;
using dnnl::memory;

struct Form {
  std::string layout;
  int implementation = 1;
};

Form parseForm(const std::string &text) {
  size_t at = text.find('#');
  return {text.substr(0, at), at == std::string::npos ? 1 : std::stoi(text.substr(at + 1))};
}

memory::data_type typeOf(const std::string &name) {
  static const std::map<std::string, memory::data_type> types = {{"f32", memory::data_type::f32},
                                                                 {"bf16", memory::data_type::bf16},
                                                                 {"s8", memory::data_type::s8},
                                                                 {"u8", memory::data_type::u8}};
  auto found = types.find(name);
  if (found == types.end())
    fail("type '" + name + "' is none of f32, bf16, s8, u8");
  return found->second;
}

bool isQuantised(const Operand &operand) { return operand.type == "s8" || operand.type == "u8"; }

algorithm algorithmOf(const std::string &name) {
  static const std::map<std::string, algorithm> algorithms = {
      {"relu", algorithm::eltwise_relu}, {"gelu", algorithm::eltwise_gelu_erf},
      {"tanh", algorithm::eltwise_tanh}, {"logistic", algorithm::eltwise_logistic},
      {"clip", algorithm::eltwise_clip}, {"hardswish", algorithm::eltwise_hardswish},
      {"add", algorithm::binary_add},    {"sub", algorithm::binary_sub},
      {"mul", algorithm::binary_mul},    {"div", algorithm::binary_div},
      {"max", algorithm::binary_max},    {"min", algorithm::binary_min}};
  auto found = algorithms.find(name);
  if (found == algorithms.end())
    fail("no operator '" + name + "'");
  return found->second;
}

memory::dims rowMajor(const memory::dims &dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

memory::desc plain(const Operand &o) { return {o.dims, typeOf(o.type), rowMajor(o.dims)}; }

memory::desc turned(const Operand &o) {
  memory::dims swapped = o.dims;
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  memory::dims strides = rowMajor(swapped);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return {o.dims, typeOf(o.type), strides};
}

memory::desc channelsLast(const Operand &o) {
  memory::dims strides(o.dims.size(), 1);
  int64_t step = strides[1] = 1;
  step *= o.dims[1];
  for (size_t i = o.dims.size() - 1; i > 1; --i) {
    strides[i] = step;
    step *= o.dims[i];
  }
  strides[0] = step;
  return {o.dims, typeOf(o.type), strides};
}

// Images of few channels stay plain, as the first convolution of a model takes them.
memory::desc blocked(const Operand &o) {
  using tag = memory::format_tag;
  size_t spatial = o.dims.size() - 2;
  if (o.dims[1] % 8 != 0 || spatial < 1 || spatial > 3)
    return plain(o);
  static const tag by16[] = {tag::nCw16c, tag::nChw16c, tag::nCdhw16c};
  static const tag by8[] = {tag::nCw8c, tag::nChw8c, tag::nCdhw8c};
  return {o.dims, typeOf(o.type), (o.dims[1] % 16 == 0 ? by16 : by8)[spatial - 1]};
}

memory::desc any(const Operand &o) { return {o.dims, typeOf(o.type), memory::format_tag::any}; }

memory::desc dataIn(const std::string &layout, const Operand &o) {
  if (layout == "any" || layout == "inner")
    return any(o);
  if (o.dims.size() < 3 || layout == "plain" || layout == "turned")
    return plain(o);
  return layout == "last" ? channelsLast(o) : blocked(o);
}

// The attributes of a product: scales and post-ops, and the arguments these bring.
struct Attributes {
  dnnl::primitive_attr attr;
  std::vector<Argument> arguments;
  std::string sumTensor;
};

void appendPostOp(Attributes &a, dnnl::post_ops &posts, const PostOp &post) {
  if (post.kind == "sum") {
    posts.append_sum(1.f, 0, typeOf(post.operand.type));
    a.sumTensor = post.operand.tensor;
  } else if (post.kind == "add") {
    int key = DNNL_ARG_ATTR_MULTIPLE_POST_OP(posts.len()) | DNNL_ARG_SRC_1;
    posts.append_binary(algorithm::binary_add, plain(post.operand));
    a.arguments.push_back({key, plain(post.operand), post.operand.tensor, post.operand.offset, {}});
  } else {
    appendEltwise(posts, algorithmOf(post.kind), post.low, post.high);
  }
}

Attributes attributesOf(const Layer &layer, int64_t channels, int weightsMask, int64_t depth) {
  Attributes a;
  a.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops posts;
  if (isQuantised(layer.operand("weights"))) {
    float value = 1 / (64 * std::sqrt(float(depth)));
    Scales scales = setChannelScales(a.attr, channels, weightsMask, value);
    if (scales.scaleArgument != 0)
      a.arguments.push_back({scales.scaleArgument,
                             {{channels}, memory::data_type::f32, memory::format_tag::x},
                             "",
                             0,
                             {0, value}});
  } else if (layer.has("scale")) {
    setResultScale(a.attr, posts, std::stof(layer.text("scale")));
  }
  for (const PostOp &post : layer.postOps())
    appendPostOp(a, posts, post);
  a.attr.set_post_ops(posts);
  return a;
}

// Moves to the asked implementation; false when there is none, or only the library's reference
// code.
template <class Pd> bool advance(Pd &pd, int implementation) {
  if (!pd)
    return false;
  if constexpr (requires { pd.next_impl(); }) {
    for (int i = 1; i < implementation; ++i)
      if (!pd.next_impl() || std::string(pd.impl_info_str()).find("ref") != std::string::npos)
        return false;
    return true;
  }
  return implementation == 1;
}

template <class P, class Pd> Made madeOf(const Pd &pd) {
  Made made;
  made.primitive = P(pd);
  made.implementation = pd.impl_info_str();
  made.scratchpadBytes = pd.scratchpad_desc().get_size();
  return made;
}

template <class Pd>
void addArgument(Made &made, const Pd &pd, int key, const Operand &operand, bool isConstant,
                 Fill fill = {}) {
  memory::desc desc = pd.query_md(dnnl::query::exec_arg_md, key);
  made.layouts += (made.layouts.empty() ? "" : ":") + operand.type + "/" + layoutName(desc);
  if (key == DNNL_ARG_DST)
    made.resultIndex = int(made.arguments.size());
  made.arguments.push_back({key, desc, isConstant ? "" : operand.tensor, operand.offset, fill});
}

template <class P, class Pd>
std::optional<Made> product(const Layer &layer, Pd pd, const Form &form, const Attributes &a,
                            int64_t depth) {
  if (!advance(pd, form.implementation))
    return std::nullopt;
  Made made = madeOf<P>(pd);
  bool isConstant = layer.kind == "conv" || layer.has("constant");
  addArgument(made, pd, DNNL_ARG_SRC, layer.operand("src"), false);
  addArgument(made, pd, DNNL_ARG_WEIGHTS, layer.operand("weights"), isConstant,
              {std::sqrt(3.f / depth), 0});
  if (layer.has("bias"))
    made.arguments.push_back(
        {DNNL_ARG_BIAS, pd.query_md(dnnl::query::exec_arg_md, DNNL_ARG_BIAS), "", 0, {0.1f, 0}});
  addArgument(made, pd, DNNL_ARG_DST, layer.operand("dst"), false);
  made.arguments.insert(made.arguments.end(), a.arguments.begin(), a.arguments.end());
  made.sumTensor = a.sumTensor;
  return made;
}

memory::dims lessOne(memory::dims dilations) {
  for (int64_t &d : dilations)
    d -= 1;
  return dilations;
}

struct Padding {
  memory::dims begins, ends;
};

Padding paddingOf(const Layer &layer) {
  auto pads = layer.extents("pads");
  size_t half = pads.size() / 2;
  return {{pads.begin(), pads.begin() + half}, {pads.begin() + half, pads.end()}};
}

std::optional<Made> makeConv(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src"), weights = layer.operand("weights"),
          dst = layer.operand("dst");
  int64_t groups = layer.number("groups"), channels = weights.dims[0], depth = 1;
  for (size_t i = 1; i < weights.dims.size(); ++i)
    depth *= weights.dims[i];
  if (groups > 1) {
    weights.dims[0] /= groups;
    weights.dims.insert(weights.dims.begin(), groups);
  }
  Attributes a = attributesOf(layer, channels, groups > 1 ? 3 : 1, depth);
  Padding pads = paddingOf(layer);
  auto with = [&](const auto &...bias) {
    return describe<dnnl::convolution_forward>(
        a.attr, dnnl::prop_kind::forward_inference, algorithm::convolution_direct,
        dataIn(form.layout, src), any(weights), bias..., dataIn(form.layout, dst),
        layer.extents("strides"), lessOne(layer.extents("dilations")), pads.begins, pads.ends);
  };
  memory::desc bias({channels}, memory::data_type::f32, memory::format_tag::x);
  return product<dnnl::convolution_forward>(layer, layer.has("bias") ? with(bias) : with(), form, a,
                                            depth);
}

std::optional<Made> makeInner(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src"), weights = layer.operand("weights"),
          dst = layer.operand("dst");
  if (src.dims.size() != 2)
    return std::nullopt;
  int64_t depth = weights.dims[0], channels = weights.dims[1];
  std::swap(weights.dims[0], weights.dims[1]);
  Attributes a = attributesOf(layer, channels, 1, depth);
  auto with = [&](const auto &...bias) {
    return describe<dnnl::inner_product_forward>(a.attr, dnnl::prop_kind::forward_inference,
                                                 plain(src), any(weights), bias..., plain(dst));
  };
  memory::desc bias({channels}, memory::data_type::f32, memory::format_tag::x);
  return product<dnnl::inner_product_forward>(layer, layer.has("bias") ? with(bias) : with(), form,
                                              a, depth);
}

std::optional<Made> makeMatMul(const Layer &layer, const Form &form) {
  if (form.layout == "inner")
    return makeInner(layer, form);
  Operand src = layer.operand("src"), weights = layer.operand("weights"),
          dst = layer.operand("dst");
  int64_t depth = src.dims.back(), channels = dst.dims.back(), last = int64_t(dst.dims.size()) - 1;
  Attributes a = attributesOf(layer, channels, 1 << last, depth);
  memory::desc stored = form.layout == "any"      ? any(weights)
                        : form.layout == "turned" ? turned(weights)
                                                  : plain(weights);
  auto with = [&](const auto &...bias) {
    return describe<dnnl::matmul>(a.attr, plain(src), stored, bias..., plain(dst));
  };
  memory::dims biasDims(dst.dims.size(), 1);
  biasDims.back() = channels;
  memory::desc bias(biasDims, memory::data_type::f32, rowMajor(biasDims));
  return product<dnnl::matmul>(layer, layer.has("bias") ? with(bias) : with(), form, a, depth);
}

dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

// A primitive that reads `sources` (by key) and writes the layer's dst.
template <class P, class Pd>
std::optional<Made> simple(const Layer &layer, Pd pd, const Form &form,
                           const std::vector<std::pair<int, Operand>> &sources) {
  if (!advance(pd, form.implementation))
    return std::nullopt;
  Made made = madeOf<P>(pd);
  for (const auto &[key, operand] : sources)
    addArgument(made, pd, key, operand, false);
  addArgument(made, pd, DNNL_ARG_DST, layer.operand("dst"), false);
  return made;
}

std::optional<Made> makePool(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src"), dst = layer.operand("dst");
  if (isQuantised(src))
    dst.type = src.type;
  Padding pads = paddingOf(layer);
  memory::dims dilations(pads.begins.size(), 0);
  if (layer.has("dilations"))
    dilations = lessOne(layer.extents("dilations"));
  auto kind = layer.text("algorithm") == "max" ? algorithm::pooling_max
                                               : algorithm::pooling_avg_exclude_padding;
  auto pd = describe<Pooling>(userScratchpad(), dnnl::prop_kind::forward_inference, kind,
                              dataIn(form.layout, src), dataIn(form.layout, dst),
                              layer.extents("strides"), layer.extents("kernel"), dilations,
                              pads.begins, pads.ends);
  return simple<Pooling>(layer, pd, form, {{DNNL_ARG_SRC, src}});
}

std::optional<Made> makeSoftmax(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src"), dst = layer.operand("dst");
  auto pd = describe<Softmax>(userScratchpad(), dnnl::prop_kind::forward_inference,
                              algorithm::softmax_accurate, plain(src), plain(dst),
                              int(layer.number("axis")));
  return simple<Softmax>(layer, pd, form, {{DNNL_ARG_SRC, src}});
}

std::optional<Made> makeLayerNorm(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src");
  auto pd = describeLayerNorm(userScratchpad(), plain(src));
  auto made = simple<dnnl::layer_normalization_forward>(layer, pd, form, {{DNNL_ARG_SRC, src}});
  memory::desc row({src.dims.back()}, memory::data_type::f32, memory::format_tag::x);
  if (made) {
    made->arguments.push_back({DNNL_ARG_SCALE, row, "", 0, {0, 1}});
    made->arguments.push_back({DNNL_ARG_SHIFT, row, "", 0, {0.1f, 0}});
  }
  return made;
}

std::optional<Made> makeEltwise(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src");
  auto pd = describeEltwise(userScratchpad(), algorithmOf(layer.postOps().at(0).kind), plain(src));
  return simple<dnnl::eltwise_forward>(layer, pd, form, {{DNNL_ARG_SRC, src}});
}

std::optional<Made> makeBinary(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src"), other = layer.operand("other"), dst = layer.operand("dst");
  if (src.dims != dst.dims)
    std::swap(src, other); // the library broadcasts the second operand
  auto pd = describe<dnnl::binary>(userScratchpad(), algorithmOf(layer.text("algorithm")),
                                   dataIn(form.layout, src), dataIn(form.layout, other),
                                   dataIn(form.layout, dst));
  return simple<dnnl::binary>(layer, pd, form, {{DNNL_ARG_SRC_0, src}, {DNNL_ARG_SRC_1, other}});
}

std::optional<Made> makeConcat(const Layer &layer, const Form &form) {
  std::vector<memory::desc> descs;
  std::vector<std::pair<int, Operand>> sources;
  for (int64_t i = 0; i < layer.number("count"); ++i) {
    Operand source = layer.operand("src" + std::to_string(i));
    descs.push_back(dataIn(form.layout, source));
    sources.push_back({DNNL_ARG_MULTIPLE_SRC + int(i), source});
  }
  auto pd = describeConcat(userScratchpad(), dataIn(form.layout, layer.operand("dst")),
                           int(layer.number("axis")), descs);
  return simple<dnnl::concat>(layer, pd, form, sources);
}

std::optional<Made> makeReorder(const Layer &layer, const Form &form) {
  Operand src = layer.operand("src");
  Scales scales;
  auto pd = describeQuantise(plain(src), plain(layer.operand("dst")), scales);
  auto made = simple<dnnl::reorder>(layer, pd, form, {{DNNL_ARG_FROM, src}});
  if (made && scales.scaleArgument != 0)
    made->arguments.push_back({scales.scaleArgument,
                               {{1}, memory::data_type::f32, memory::format_tag::x},
                               "",
                               0,
                               {0, 0.05f}});
  return made;
}

struct Kind {
  std::vector<std::string> forms;
  std::optional<Made> (*make)(const Layer &layer, const Form &form);
};

const Kind &kindOf(const Layer &layer) {
  static const std::map<std::string, Kind> kinds = {
      {"conv", {{"any", "any#2", "last", "last#2", "blocked", "blocked#2"}, makeConv}},
      {"matmul", {{"any", "any#2", "inner", "inner#2", "plain", "turned"}, makeMatMul}},
      {"pool", {{"last", "last#2", "blocked", "plain"}, makePool}},
      {"concat", {{"last", "blocked", "plain"}, makeConcat}},
      {"binary", {{"plain", "last"}, makeBinary}},
      {"eltwise", {{"plain"}, makeEltwise}},
      {"layer_norm", {{"plain"}, makeLayerNorm}},
      {"reorder", {{"plain"}, makeReorder}},
      {"softmax", {{"plain"}, makeSoftmax}}};
  auto found = kinds.find(layer.kind);
  if (found == kinds.end())
    fail("no layer '" + layer.kind + "'");
  return found->second;
}

} // namespace

std::vector<std::string> formsOf(const Layer &layer) {
  if (layer.kind == "matmul" && !layer.has("constant"))
    return {"plain", "turned"}; // what other layers wrote cannot be packed
  return kindOf(layer).forms;
}

std::optional<Made> make(const Layer &layer, const std::string &form) {
  try {
    return kindOf(layer).make(layer, parseForm(form));
  } catch (const dnnl::error &) {
    return std::nullopt; // 2.x refuses some descriptors with an exception
  }
}

} // namespace floor_bench
