// Convolutions over one to three spatial axes, in any plain layout:
//
//   out[n, o, p] = sum over i, k of x[n, i, p * stride + k * dilation - pad] * w[o, i, k]
//
// A tile of results along one axis is held while the sum runs, so that the inner
// loop has no sum in it and becomes vectors: along the output channels where they
// lie side by side in the weights, else along the last spatial axis.
#include "Window.h"
#include "bycc/Support/Layout.h"

namespace bycc::ccompiler {

namespace {

constexpr int64_t convTile = 64;    // results held at a time along an axis
constexpr int64_t channelBlock = 8; // channels at a time in the row form
constexpr int64_t maxTaps = 8;      // written out rather than looped over
constexpr int64_t maxRow = 1 << 14; // elements of x copied for a tile; on the stack

struct Convolution {
  Lettered x, w, out;
  Slides slides;
  int64_t batch, channels, groups; // channels: of the result
  int64_t perGroup;                // input channels of one group
  DType xType, wType, outType;
};

class ConvAnchor : public Anchor {
public:
  ConvAnchor(ValueId x, ValueId w, Convolution conv) : Anchor({x, w}), c_(std::move(conv)) {}

  void emit(CWriter &out, const PointerOf &pointer, const Tail &tail) const override {
    size_t depth = out.depth();
    bool alongChannels =
        c_.out.stride('C') == 1 && c_.w.stride('O') == 1 && c_.channels > c_.groups;
    if (alongChannels)
      channelForm(out, pointer(reads()[0]), pointer(reads()[1]), tail);
    else
      rowForm(out, pointer(reads()[0]), pointer(reads()[1]), tail);
    out.closeTo(depth);
  }

private:
  std::string sum() const { return sumType(c_.outType); }
  std::string cast(const std::string &text) const {
    return converted(text, sum(), cType(c_.outType));
  }

  // Index of each axis of the result, by its layout.
  std::vector<std::string> resultIndex(const std::string &channel,
                                       const std::string &column) const {
    std::vector<std::string> index;
    for (char letter : c_.out.layout())
      index.push_back(letter == 'N'   ? "n"
                      : letter == 'C' ? channel
                      : letter == 'W' ? column
                      : letter == 'H' ? "h"
                                      : "d");
    return index;
  }

  // Opens the loop over taps of one spatial axis and leaves where a tap lies outside:
  // `at` is the position read.
  void tap(CWriter &out, const Slide &slide, const std::string &position, const std::string &k,
           const std::string &at) const {
    if (slide.window == 1 && slide.in == 1 && slide.out == 1 && slide.pad == 0)
      return;
    out.loop(k, slide.window);
    out.line("const int64_t " + at + " = " +
             indexText({position, k}, {slide.stride, slide.dilation}) +
             (slide.pad ? " - " + std::to_string(slide.pad) : "") + ";");
    if (!staysInside(slide)) {
      out.line("if (" + at + " < 0 || " + at + " >= " + std::to_string(slide.in) + ")");
      out.line("  continue;");
    }
  }
  static bool staysInside(const Slide &s) {
    return s.pad == 0 && (s.out - 1) * s.stride + (s.window - 1) * s.dilation < s.in;
  }

  std::string input(const std::string &x, const std::string &channel,
                    const std::string &column) const {
    std::string at = indexText(
        {"n", channel, "z", "y", column},
        {c_.x.stride('N'), c_.x.stride('C'), c_.x.stride('D'), c_.x.stride('H'), c_.x.stride('W')});
    return converted(x + "[" + at + "]", cType(c_.xType), sum());
  }
  std::string weight(const std::string &w, const std::string &channel,
                     const std::string &tap = "kw") const {
    std::string at = indexText(
        {channel, "i", "kd", "kh", tap},
        {c_.w.stride('O'), c_.w.stride('I'), c_.w.stride('D'), c_.w.stride('H'), c_.w.stride('W')});
    return converted(w + "[" + at + "]", cType(c_.wType), sum());
  }
  std::string inputChannel(const std::string &group) const {
    return c_.groups == 1 ? "i" : indexText({group, "i"}, {c_.perGroup, 1});
  }

  // Constants for the axes that the data does not have, so that one form of index
  // serves all ranks.
  void nameMissingAxes(CWriter &out) const {
    const char *names[3][3] = {{"d", "kd", "z"}, {"h", "kh", "y"}, {"w", "kw", "x"}};
    for (int a = 0; a < 2; ++a)
      if (!c_.out.has(c_.slides[a].letter))
        out.line(std::string("const int64_t ") + names[a][0] + " = 0;");
    for (int a = 0; a < 2; ++a) {
      const Slide &s = c_.slides[a];
      if (s.window == 1 && s.in == 1 && s.out == 1 && s.pad == 0)
        out.line(std::string("const int64_t ") + names[a][1] + " = 0, " + names[a][2] + " = 0;");
    }
  }

  void outerLoops(CWriter &out) const {
    nameMissingAxes(out);
    out.loop("n", c_.batch);
    for (int a = 0; a < 2; ++a)
      if (c_.out.has(c_.slides[a].letter))
        out.loop(a == 0 ? "d" : "h", c_.slides[a].out);
  }

  // A tile of one row of results for some channels at a time. The part of a row of
  // x that it needs is copied to `row`, with zeros for the padding, and serves all
  // these channels; so the loop over the tile has no conditions in it.
  void rowForm(CWriter &out, const std::string &x, const std::string &w, const Tail &tail) const {
    const Slide &row = c_.slides[2];
    int64_t perGroup = c_.channels / c_.groups,
            block = std::min(channelBlock, std::max<int64_t>(perGroup, 1));
    int64_t numTiles = std::max<int64_t>((row.out + convTile - 1) / convTile, 1);
    int64_t reach = (row.window - 1) * row.dilation;
    int64_t width = std::min((row.out + numTiles - 1) / numTiles, (maxRow - reach) / row.stride);
    width = std::max<int64_t>(width, 1);
    int64_t length = (width - 1) * row.stride + reach + 1;
    outerLoops(out);
    if (c_.groups > 1)
      out.loop("g", c_.groups);
    out.loop("w0", std::to_string(row.out), std::to_string(width));
    limit(out, "size", "w0", row.out, width);
    out.line("const int64_t left = " + indexText({"w0"}, {row.stride}, -row.pad) + ";");
    out.line("const int64_t begin = left < 0 ? -left : 0;");
    out.line("const int64_t end = " + std::to_string(row.in) + " - left < " +
             std::to_string(length) + " ? " + std::to_string(row.in) +
             " - left : " + std::to_string(length) + ";");
    out.loop("o0", std::to_string(perGroup), std::to_string(block));
    limit(out, "channels", "o0", perGroup, block);
    out.line(sum() + " sums[" + std::to_string(block) + "][" + std::to_string(width) + "] = {0};");
    out.line(sum() + " row[" + std::to_string(std::max<int64_t>(length, 1)) + "] = {0};");
    size_t depth = out.depth();
    out.loop("i", c_.perGroup);
    tap(out, c_.slides[0], "d", "kd", "z");
    tap(out, c_.slides[1], "h", "kh", "y");
    out.open("for (int64_t r = begin; r < end; ++r)");
    out.line("row[r] = " + input(x, inputChannel("g"), "left + r") + ";");
    out.close();
    out.loop("o", "channels");
    addRow(out, w, row, indexText({"g", "o0 + o"}, {c_.groups > 1 ? perGroup : 0, 1}), width);
    out.closeTo(depth);
    out.loop("o", "channels");
    out.loop("t", "size");
    tail(cast("sums[o][t]"),
         resultIndex(indexText({"g", "o0 + o"}, {c_.groups > 1 ? perGroup : 0, 1}), "w0 + t"));
    out.closeTo(depth);
  }

  // const int64_t name = what is left of `extent` from `begin` on, at most `most`.
  static void limit(CWriter &out, const std::string &name, const std::string &begin, int64_t extent,
                    int64_t most) {
    std::string left = std::to_string(extent) + " - " + begin, size = std::to_string(most);
    out.line("const int64_t " + name + " = " +
             (extent % most ? left + " < " + size + " ? " + left + " : " + size : size) + ";");
  }

  // Adds the taps along the row to the sums of one channel; few taps in one go.
  void addRow(CWriter &out, const std::string &w, const Slide &row, const std::string &channel,
              int64_t width) const {
    std::string tileSize = std::to_string(width);
    if (row.window > maxTaps) {
      out.loop("kw", row.window);
      out.line("const " + sum() + " factor = " + weight(w, channel, "kw") + ";");
      out.loop("t", tileSize);
      out.line("sums[o][t] += factor * row[" + indexText({"t", "kw"}, {row.stride, row.dilation}) +
               "];");
      return;
    }
    std::string terms;
    for (int64_t k = 0; k < row.window; ++k) {
      std::string factor = "f" + std::to_string(k);
      out.line("const " + sum() + " " + factor + " = " + weight(w, channel, std::to_string(k)) +
               ";");
      terms += (k ? " + " : "") + factor + " * row[" +
               indexText({"t"}, {row.stride}, k * row.dilation) + "]";
    }
    if (terms.empty())
      return;
    out.loop("t", tileSize);
    out.line("sums[o][t] += " + terms + ";");
  }

  void channelForm(CWriter &out, const std::string &x, const std::string &w,
                   const Tail &tail) const {
    int64_t outPerGroup = c_.channels / c_.groups;
    outerLoops(out);
    out.loop("w", c_.slides[2].out);
    out.loop("g", c_.groups);
    int64_t width = std::min(convTile, std::max<int64_t>(outPerGroup, 1));
    out.loop("o0", std::to_string(outPerGroup), std::to_string(width));
    limit(out, "size", "o0", outPerGroup, width);
    out.line(sum() + " sums[" + std::to_string(width) + "] = {0};");
    size_t depth = out.depth();
    tap(out, c_.slides[0], "d", "kd", "z");
    tap(out, c_.slides[1], "h", "kh", "y");
    if (c_.slides[2].window == 1 && c_.slides[2].in == 1 && c_.slides[2].out == 1 &&
        c_.slides[2].pad == 0)
      out.line("const int64_t kw = 0, x = 0;");
    tap(out, c_.slides[2], "w", "kw", "x");
    out.loop("i", c_.perGroup);
    out.line("const " + sum() + " a = " + input(x, inputChannel("g"), "x") + ";");
    out.loop("t", "size");
    std::string channel = indexText({"g", "o0 + t"}, {outPerGroup, 1});
    out.line("sums[t] += a * " + weight(w, channel) + ";");
    out.closeTo(depth);
    out.loop("t", "size");
    tail(cast("sums[t]"), resultIndex(channel, "w"));
    out.closeTo(depth);
  }

  Convolution c_;
};

Expected<> checkShape(Translator &op, const Convolution &c) {
  if (c.groups < 1 || c.channels % c.groups || c.x.extent('C') != c.perGroup * c.groups ||
      c.w.extent('O') != c.channels || c.x.extent('N') != c.batch)
    return op.refuse() << "weight " << text(op.input(1).dims) << " in " << c.groups
                       << " groups does not fit data " << text(op.input(0).dims);
  const Slide &row = c.slides[2];
  if (row.window > maxRow || (row.window - 1) * row.dilation > maxRow)
    return op.refuse() << "the kernel reaches over more than " << maxRow << " columns";
  return {};
}

Expected<> convolution(Translator &op) {
  BYCC_TRY(op.expectInputs(2));
  BYCC_TRY(op.expectOneKind());
  size_t rank = op.name() == "nn.conv1d" ? 1 : op.name() == "nn.conv2d" ? 2 : 3;
  std::string letters = layoutLetters("NC", rank), kernelLetters = layoutLetters("OI", rank);
  std::string data(op.attributes.word("data_layout", letters));
  std::string kernel(op.attributes.word("kernel_layout", kernelLetters));
  std::string result(op.attributes.word("out_layout", ""));
  Convolution c;
  c.x = BYCC_TRY(Lettered::read(op, data, op.input(0), letters));
  c.w = BYCC_TRY(Lettered::read(op, kernel, op.input(1), kernelLetters));
  c.out = BYCC_TRY(Lettered::read(op, result.empty() ? data : result, op.output(), letters));
  c.slides =
      BYCC_TRY(readSlides(op, c.x, c.out, {c.w.extent('D'), c.w.extent('H'), c.w.extent('W')}));
  c.batch = c.out.extent('N');
  c.channels = c.out.extent('C');
  c.groups = op.attributes.integer("groups", 1);
  c.perGroup = c.w.extent('I');
  c.xType = op.input(0).dtype;
  c.wType = op.input(1).dtype;
  c.outType = op.output().dtype;
  if (c.outType == DType::Bool || op.input(0).dtype == DType::Bool)
    return op.refuse() << "not for bool";
  BYCC_TRY(checkShape(op, c));
  op.anchor(std::make_shared<ConvAnchor>(op.inputId(0), op.inputId(1), std::move(c)));
  return {};
}

} // namespace

std::vector<TranslationEntry> convolutionTranslations() {
  return {{"nn.conv1d", convolution}, {"nn.conv2d", convolution}, {"nn.conv3d", convolution}};
}

} // namespace bycc::ccompiler
