// Max and average pooling: sliding, adaptive and global windows, in any plain
// layout. A maximum passes NaN on; an average is made in double.
#include "Window.h"
#include "bycc/Support/Layout.h"

namespace bycc::ccompiler {

namespace {

struct Pool {
  Lettered in, out;
  Slides slides;
  bool isMax, isAdaptive;
  int64_t divisor; // 0: the number of elements inside the data
  DType dtype;
};

constexpr const char *positions[3] = {"d", "h", "w"};
constexpr const char *taps[3] = {"z", "y", "x"};

class PoolAnchor : public Anchor {
public:
  PoolAnchor(ValueId x, Pool pool) : Anchor({x}), p_(std::move(pool)) {}

  void emit(CWriter &out, const PointerOf &pointer, const Tail &tail) const override {
    size_t depth = out.depth();
    std::vector<std::string> index = openLoops(out);
    bool countsInside = !p_.isMax && p_.divisor == 0;
    out.line(std::string(p_.isMax ? cType(p_.dtype) : sum()) + " value = " + initial() + ";");
    if (countsInside)
      out.line("int64_t inside = 0;");
    size_t body = out.depth();
    openWindow(out);
    join(out, pointer(reads()[0]), countsInside);
    out.closeTo(body);
    tail(element(countsInside), index);
    out.closeTo(depth);
  }

private:
  const char *sum() const { return isFloat(p_.dtype) ? "double" : "int64_t"; }

  std::string initial() const {
    if (!p_.isMax)
      return "0";
    if (isFloat(p_.dtype))
      return "-INFINITY";
    return isSignedInt(p_.dtype) ? "INT" + std::to_string(8 * sizeInBytes(p_.dtype)) + "_MIN" : "0";
  }

  std::vector<std::string> openLoops(CWriter &out) const {
    std::vector<std::string> index;
    for (char letter : p_.out.layout()) {
      std::string name(1, static_cast<char>(letter - 'A' + 'a'));
      out.loop(name, p_.out.extent(letter));
      index.push_back(name);
    }
    return index;
  }

  void openWindow(CWriter &out) const {
    for (size_t a = 0; a < 3; ++a) {
      const Slide &s = p_.slides[a];
      if (!p_.in.has(s.letter))
        continue;
      std::string at = taps[a], position = positions[a], in = std::to_string(s.in);
      if (p_.isAdaptive) {
        std::string o = std::to_string(s.out);
        out.open("for (int64_t " + at + " = " + position + " * " + in + " / " + o + "; " + at +
                 " < ((" + position + " + 1) * " + in + " + " + std::to_string(s.out - 1) + ") / " +
                 o + "; ++" + at + ")");
        continue;
      }
      out.loop("k" + position, s.window);
      out.line("const int64_t " + at + " = " +
               indexText({position, "k" + position}, {s.stride, s.dilation}) +
               (s.pad ? " - " + std::to_string(s.pad) : "") + ";");
      bool staysInside = s.pad == 0 && (s.out - 1) * s.stride + (s.window - 1) * s.dilation < s.in;
      if (!staysInside) {
        out.line("if (" + at + " < 0 || " + at + " >= " + in + ")");
        out.line("  continue;");
      }
    }
  }

  void join(CWriter &out, const std::string &x, bool countsInside) const {
    std::vector<std::string> index = {"n", "c"};
    Dims strides = {p_.in.stride('N'), p_.in.stride('C')};
    for (size_t a = 0; a < 3; ++a)
      if (p_.in.has(p_.slides[a].letter)) {
        index.push_back(taps[a]);
        strides.push_back(p_.in.stride(p_.slides[a].letter));
      }
    std::string from = x + "[" + indexText(index, strides) + "]";
    if (!p_.isMax) {
      out.line("value += " + from + ";");
      if (countsInside)
        out.line("++inside;");
      return;
    }
    out.line(std::string("const ") + cType(p_.dtype) + " next = " + from + ";");
    out.line("value = next > value || next != next ? next : value;");
  }

  std::string element(bool countsInside) const {
    std::string type = std::string("(") + cType(p_.dtype) + ")";
    if (p_.isMax)
      return "value";
    if (countsInside)
      return type + "(value / (inside ? inside : 1))";
    return type + "(value / " + std::to_string(p_.divisor) + ")";
  }

  Pool p_;
};

Expected<Pool> readPool(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  const Dims &dims = op.input(0).dims;
  if (dims.size() < 3 || dims.size() > 5 || op.output().dims.size() != dims.size())
    return op.refuse() << "data is " << text(dims);
  std::string letters = layoutLetters("NC", dims.size() - 2);
  std::string layout(op.attributes.word("layout", letters));
  std::string result(op.attributes.word("out_layout", ""));
  Pool pool;
  pool.dtype = op.input(0).dtype;
  if (pool.dtype == DType::Bool || pool.dtype == DType::UInt64 || op.output().dtype != pool.dtype)
    return op.refuse() << "not for " << bycc::name(pool.dtype);
  pool.in = BYCC_TRY(Lettered::read(op, layout, op.input(0), letters));
  pool.out = BYCC_TRY(Lettered::read(op, result.empty() ? layout : result, op.output(), letters));
  pool.isMax = op.name().find("max") != std::string_view::npos;
  pool.divisor = 0;
  if (pool.in.extent('N') != pool.out.extent('N') || pool.in.extent('C') != pool.out.extent('C'))
    return op.refuse() << "data is " << text(dims) << ", result " << text(op.output().dims);
  return pool;
}

Expected<> slidingPool(Translator &op) {
  Pool pool = BYCC_TRY(readPool(op));
  pool.isAdaptive = false;
  auto window = BYCC_TRY(perSpatialAxis(op, "pool_size", pool.in, 1));
  pool.slides = BYCC_TRY(readSlides(op, pool.in, pool.out, window));
  if (!pool.isMax && op.attributes.flag("count_include_pad", false))
    pool.divisor = window[0] * window[1] * window[2];
  op.anchor(std::make_shared<PoolAnchor>(op.inputId(0), std::move(pool)));
  return {};
}

Expected<> adaptivePool(Translator &op) {
  Pool pool = BYCC_TRY(readPool(op));
  pool.isAdaptive = true;
  for (size_t a = 0; a < 3; ++a) {
    char letter = "DHW"[a];
    pool.slides[a] = {letter, pool.in.extent(letter), pool.out.extent(letter), 1};
    if (pool.slides[a].out == 0)
      return op.refuse() << "result is " << text(op.output().dims);
  }
  op.anchor(std::make_shared<PoolAnchor>(op.inputId(0), std::move(pool)));
  return {};
}

} // namespace

std::vector<TranslationEntry> poolTranslations() {
  return {{"nn.adaptive_avg_pool1d", adaptivePool}, {"nn.adaptive_avg_pool2d", adaptivePool},
          {"nn.adaptive_avg_pool3d", adaptivePool}, {"nn.adaptive_max_pool1d", adaptivePool},
          {"nn.adaptive_max_pool2d", adaptivePool}, {"nn.adaptive_max_pool3d", adaptivePool},
          {"nn.avg_pool1d", slidingPool},           {"nn.avg_pool2d", slidingPool},
          {"nn.avg_pool3d", slidingPool},           {"nn.global_avg_pool2d", adaptivePool},
          {"nn.global_max_pool2d", adaptivePool},   {"nn.max_pool1d", slidingPool},
          {"nn.max_pool2d", slidingPool},           {"nn.max_pool3d", slidingPool}};
}

} // namespace bycc::ccompiler
