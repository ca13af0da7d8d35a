// The report for people: what went where in a few lines, reasons of one kind
// folded, then every node in program order.
//
//   71 ops: 57 in 3 regions of dnnl, 14 on the host
//
//   regions:
//     net_dnnl_0  dnnl  12 ops  34.5 MFLOP  4 inputs  1 output  0.3 MiB cross its boundary  3 dnnl.conv2d_relu
//   not one region:
//     net_dnnl_0 and net_dnnl_1: softmax_1 (nn.softmax) of the host lies between them
//   on the host:
//     7 nn.softmax: softmax_1, softmax_2, softmax_3, softmax_4, ...
//         dnnl refuses: axis 1 is not the last one
//   nodes:
//     conv_1     nn.conv2d   net_dnnl_0  dnnl.conv2d_relu  (npu would take it: dnnl has priority)
//     softmax_1  nn.softmax  host
//         dnnl refuses: axis 1 is not the last one

#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Quantity.h"
#include "bycc/Support/Text.h"

#include "CostEstimate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <sstream>

namespace bycc {

namespace {

constexpr size_t maxColumn = 40; // longer names push the rest of their line

// With a decimal: regions are compared by it.
std::string bytesText(int64_t bytes) {
  double value = static_cast<double>(bytes);
  const char *units[] = {"B", "KiB", "MiB", "GiB"};
  const char **unit = units;
  for (; value >= 1024 && unit + 1 != std::end(units); ++unit)
    value /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, unit == units ? "%.0f %s" : "%.1f %s", value, *unit);
  return text;
}

// Rows of cells, printed with aligned columns.
class Table {
public:
  void add(std::vector<std::string> cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i == widths_.size())
        widths_.push_back(0);
      widths_[i] = std::max(widths_[i], std::min(cells[i].size(), maxColumn));
    }
    rows_.push_back(std::move(cells));
  }
  std::string line(size_t row) const {
    std::string text = "  ";
    for (size_t i = 0; i < rows_[row].size(); ++i) {
      const std::string &cell = rows_[row][i];
      text += cell;
      if (i + 1 < rows_[row].size())
        text += std::string(cell.size() < widths_[i] ? widths_[i] - cell.size() + 2 : 2, ' ');
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  size_t size() const { return rows_.size(); }

private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

// "3 dnnl.conv2d_relu, 1 dnnl.dense_bias" of a sorted list.
std::string folded(const std::vector<std::string> &sorted) {
  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i])
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(end - i) + " " + sorted[i];
    i = end;
  }
  return text;
}

std::vector<std::string> reasonLines(const OffloadNode &node) {
  std::vector<std::string> lines;
  for (const auto &[vendor, reason] : node.refused)
    lines.push_back(vendor + " refuses: " + reason);
  for (const auto &[vendor, reason] : node.why)
    lines.push_back(vendor + " would take it: " + reason);
  return lines;
}

void writeHead(std::ostringstream &out, const OffloadReport &report) {
  out << counted(report.totals.ops, "op") << ": ";
  for (const auto &[vendor, part] : report.vendorParts())
    out << part.offloadedOps << " in " << counted(part.regions, "region") << " of "
        << report.titleOf(vendor) << ", ";
  out << report.totals.ops - report.totals.offloadedOps << " on the host\n";
  if (std::string text = describeReturned(report); !text.empty())
    out << text << "\n";
  if (std::string text = report.open.text(); !text.empty())
    out << "FLOPs and costs are " << text << "\n";
  for (const auto &[vendor, why] : report.idle)
    out << vendor << ": 0 regions (" << why << ")\n";
}

// A sum, in microseconds, of which the printed parts give the printed total.
void writeEstimate(std::ostringstream &out, const PlanEstimate &estimate) {
  out << "\n" << estimate.text() << ":\n";
  auto number = [](double us) {
    char text[48];
    std::snprintf(text, sizeof text, "%.6f", us);
    return std::string(text);
  };
  Table table;
  table.add({"us", "operators", "launches", "transfers", "sum"});
  for (const PlanEstimate::Part &part : estimate.parts)
    if (part.total() > 0 || part.name == "host")
      table.add({part.name, number(part.operators), number(part.launches), number(part.transfers),
                 number(part.total())});
  table.add({"total", "", "", "", number(estimate.us)});
  for (size_t i = 0; i < table.size(); ++i)
    out << table.line(i);
  // Else a plan could look worse than the host alone for no reason.
  if (estimate.time > 0 && std::abs(estimate.time - estimate.us) > 1e-3 * estimate.us)
    out << "  compared with other plans as " << timeText(estimate.time)
        << ": vendors' times count by the trust in them\n";
}

void writeRegions(std::ostringstream &out, const OffloadReport &report) {
  if (report.functions.empty())
    return;
  Table table;
  for (const OffloadFunction &f : report.functions)
    table.add({f.symbol, report.titleOf(f.compiler),
               counted(static_cast<int64_t>(f.ops.size()), "op"), flopsText(f.flops),
               counted(static_cast<int64_t>(f.paramTypes.size()), "input"),
               counted(static_cast<int64_t>(f.resultTypes.size()), "output"),
               boundaryText(f.boundaryBytes, bytesText(f.boundaryBytes), f.hasRunTimeSizes) +
                   " cross its boundary",
               folded(f.composites)});
  out << "\nregions:\n";
  for (size_t i = 0; i < table.size(); ++i)
    out << table.line(i);
}

void writeApart(std::ostringstream &out, const OffloadReport &report) {
  if (!report.apart.empty())
    out << "\nnot one region:\n";
  for (const OffloadApart &pair : report.apart)
    out << "  " << pair.first << " and " << pair.second << ": " << pair.why << "\n";
}

void writeWide(std::ostringstream &out, const OffloadReport &report) {
  if (report.wideProducts.empty())
    return;
  Table table;
  for (const WideProduct &product : report.wideProducts)
    table.add({product.name, product.op, product.why});
  out << "\nproducts that stay float32:\n";
  for (size_t i = 0; i < table.size(); ++i)
    out << table.line(i);
}

void writeNan(std::ostringstream &out, const OffloadReport &report) {
  for (const std::string &vendor : report.losesNan) {
    if (!report.byVendor.contains(vendor))
      continue;
    out << "\nNaN: " << vendor
        << (report.keepsNan ? " keeps it when it comes into a region; one that is born inside may "
                              "get lost there\n"
                            : " may lose it, as --nan=fast says\n");
  }
}

// Host nodes of one operator with the same reasons, once with their number.
void writeHost(std::ostringstream &out, const OffloadReport &report) {
  struct Kind {
    std::vector<std::string> lines;
    std::vector<std::string> names;
    std::string op;
  };
  std::vector<Kind> kinds;
  std::map<std::pair<std::string, std::vector<std::string>>, size_t> index;
  for (const OffloadNode &node : report.nodes) {
    if (node.placed != "host")
      continue;
    std::vector<std::string> lines = reasonLines(node);
    auto [found, isNew] = index.try_emplace({node.op, lines}, kinds.size());
    if (isNew)
      kinds.push_back({lines, {}, node.op});
    kinds[found->second].names.push_back(node.name);
  }
  if (kinds.empty())
    return;
  out << "\non the host:\n";
  for (Kind &kind : kinds) {
    out << "  " << kind.names.size() << " " << kind.op << ": ";
    constexpr size_t shown = 4;
    bool isCut = kind.names.size() > shown;
    kind.names.resize(std::min(kind.names.size(), shown));
    out << join(kind.names, ", ") << (isCut ? ", ..." : "") << "\n";
    for (const std::string &line : kind.lines)
      out << "      " << line << "\n";
  }
}

void writeNodes(std::ostringstream &out, const OffloadReport &report) {
  // Why a node that one vendor has is not another's matters less: one line.
  Table table;
  for (const OffloadNode &node : report.nodes) {
    std::string others = node.region.empty() ? "" : join(reasonLines(node), "; ");
    table.add({node.name, node.op, node.region.empty() ? node.placed : node.region, node.composite,
               others.empty() ? "" : "(" + others + ")"});
  }
  out << "\nnodes:\n";
  for (size_t i = 0; i < table.size(); ++i) {
    out << table.line(i);
    if (report.nodes[i].region.empty())
      for (const std::string &line : reasonLines(report.nodes[i]))
        out << "      " << line << "\n";
  }
}

} // namespace

bool OffloadReport::isEmulated(const std::string &vendor) const {
  return std::ranges::find(emulated, vendor) != emulated.end();
}

std::string OffloadReport::titleOf(const std::string &vendor) const {
  return vendor + (isEmulated(vendor) ? " (emulated)" : "");
}

std::vector<std::pair<std::string, OffloadTotals>> OffloadReport::vendorParts() const {
  std::vector<std::pair<std::string, OffloadTotals>> parts;
  for (const std::string &vendor : vendors) {
    auto found = byVendor.find(vendor);
    parts.emplace_back(vendor, found == byVendor.end() ? OffloadTotals{} : found->second);
  }
  for (const auto &[vendor, part] : byVendor)
    if (std::ranges::find(vendors, vendor) == vendors.end())
      parts.emplace_back(vendor, part);
  return parts;
}

std::string describeReturned(const OffloadReport &report) {
  struct Kind {
    std::string why;
    int64_t regions;
  };
  std::vector<Kind> kinds;
  for (const ReturnedRegion &region : report.returned) {
    auto found = std::ranges::find(kinds, region.why, &Kind::why);
    if (found == kinds.end())
      found = kinds.insert(kinds.end(), {region.why, 0});
    ++found->regions;
  }
  std::string text;
  for (const Kind &kind : kinds)
    text += (text.empty() ? "" : "; ") + counted(kind.regions, "small region") +
            " returned to the host: " + kind.why;
  return text;
}

std::string boundaryText(int64_t bytes, const std::string &sizeText, bool hasRunTimeSizes) {
  if (!hasRunTimeSizes)
    return sizeText;
  return (bytes ? sizeText + " and " : "") + "tensors of run-time size";
}

std::string OffloadReport::text() const {
  std::ostringstream out;
  writeHead(out, *this);
  if (estimate)
    writeEstimate(out, *estimate);
  writeRegions(out, *this);
  writeApart(out, *this);
  writeNan(out, *this);
  writeHost(out, *this);
  writeWide(out, *this);
  if (!nodes.empty())
    writeNodes(out, *this);
  return std::move(out).str();
}

} // namespace bycc
