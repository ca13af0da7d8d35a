// Costs from JSON. Units are turned into those of CostModel here: 1 gflops = 1000
// flops per microsecond, 1 GB/s = 1000 bytes.

#include "CostReader.h"

#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

Expected<double> readAmount(const JsonValue &value, const std::string &pointer,
                            const std::string &file) {
  if (!value.isNumber() || value.number < 0)
    return jsonError(value, pointer, file) << "expected a number that is not negative";
  return value.number;
}

Expected<> checkComposite(const JsonValue &name, const std::string &pointer,
                          const std::string &file, const Vendor &vendor) {
  if (vendor.mayForm(name.string))
    return {};
  std::vector<std::string> names;
  for (const Pattern &pattern : vendor.patterns())
    names.push_back(pattern.name);
  return jsonError(name, pointer, file) << unknownName("composite", name.string, names);
}

namespace {

class CostReader {
public:
  CostReader(const std::string &file, const Vendor &vendor, CostModel before)
      : file_(file), vendor_(vendor), cost_(std::move(before)) {}

  Expected<CostModel> read(const JsonValue &object, const std::string &pointer) {
    BYCC_TRY(checkKeys(object,
                       {"launch_us", "transfer_us", "transfer_gb_per_s", "layout_gb_per_s",
                        "gflops", "gb_per_s", "ops", "rows", "classes", "trust", "open_trust",
                        "measured", "cpus", "comment"},
                       pointer, file_));
    // What is said of all CPUs is said of those that have more.
    for (auto &[cpu, model] : cost_.ofCpus)
      model = std::make_shared<CostModel>(BYCC_TRY(readGeneral(object, pointer, *model)));
    for (auto [key, unit, number] :
         {std::tuple("launch_us", 1, &cost_.launchMicroseconds),
          {"transfer_us", 1, &cost_.transferMicroseconds},
          {"transfer_gb_per_s", 1000, &cost_.transferBytesPerMicrosecond},
          {"layout_gb_per_s", 1000, &cost_.layoutBytesPerMicrosecond},
          {"gflops", 1000, &cost_.rates.flopsPerMicrosecond},
          {"gb_per_s", 1000, &cost_.rates.bytesPerMicrosecond}})
      if (const JsonValue *value = object.find(key))
        *number = BYCC_TRY(readAmount(*value, pointerTo(pointer, key), file_)) * unit;
    if (const JsonValue *trust = object.find("trust"))
      cost_.trust = BYCC_TRY(readTrust(*trust, pointer + "/trust"));
    if (const JsonValue *trust = object.find("open_trust"))
      cost_.openTrust = BYCC_TRY(readTrust(*trust, pointer + "/open_trust"));
    if (const JsonValue *measured = object.find("measured"))
      BYCC_TRY(readMeasured(*measured, pointer + "/measured"));
    // Rows may name the classes.
    if (const JsonValue *classes = object.find("classes"))
      BYCC_TRY(readClasses(*classes, pointer + "/classes"));
    if (const JsonValue *ops = object.find("ops"))
      BYCC_TRY(readOps(*ops, pointer + "/ops"));
    if (const JsonValue *rows = object.find("rows"))
      BYCC_TRY(readRows(*rows, pointer + "/rows"));
    if (const JsonValue *cpus = object.find("cpus"))
      BYCC_TRY(readCpus(*cpus, pointer + "/cpus"));
    return std::move(cost_);
  }

private:
  Expected<CostModel> readGeneral(const JsonValue &object, const std::string &pointer,
                                  const CostModel &before) const {
    JsonValue general = object;
    std::erase_if(general.members, [](const auto &member) { return member.first == "cpus"; });
    return CostReader(file_, vendor_, before).read(general, pointer);
  }

  // "znver4, znver5": {..}
  Expected<> readCpus(const JsonValue &object, const std::string &pointer) {
    if (!object.isObject())
      return jsonError(object, pointer, file_) << "expected an object of CPUs and costs";
    for (const auto &[names, value] : object.members) {
      std::string at = pointerTo(pointer, names);
      if (const JsonValue *more = value.find("cpus"))
        return jsonError(*more, at + "/cpus", file_) << "CPUs stand in the outer object only";
      for (std::string name : split(names, ',')) {
        std::erase(name, ' ');
        if (name.empty())
          return jsonError(value, at, file_) << "expected names of CPUs, as -mcpu has them";
        auto known = cost_.ofCpus.find(name);
        CostModel before = known == cost_.ofCpus.end() ? cost_ : *known->second;
        before.ofCpus.clear();
        cost_.ofCpus[name] = std::make_shared<CostModel>(
            BYCC_TRY(CostReader(file_, vendor_, std::move(before)).read(value, at)));
      }
    }
    return {};
  }

  Expected<double> readTrust(const JsonValue &value, const std::string &pointer) const {
    if (!value.isNumber() || value.number <= 0)
      return jsonError(value, pointer, file_) << "expected a number greater than 0";
    return value.number;
  }

  Expected<> readMeasured(const JsonValue &value, const std::string &pointer) {
    if (!value.isBool())
      return jsonError(value, pointer, file_) << "expected true or false";
    cost_.isMeasured = value.boolean;
    return {};
  }

  Expected<> readClasses(const JsonValue &object, const std::string &pointer) {
    if (!object.isObject())
      return jsonError(object, pointer, file_) << "expected an object of names and conditions";
    for (const auto &[name, condition] : object.members) {
      std::string at = pointerTo(pointer, name);
      if (auto checked = CostClass::checkName(name); !checked)
        return jsonError(condition, at, file_) << checked.error().message();
      cost_.classes[name] =
          std::make_shared<Condition>(BYCC_TRY(readCondition(condition, OpId(), at, file_)));
    }
    return {};
  }

  // Rows without constraints.
  Expected<> readOps(const JsonValue &ops, const std::string &pointer) {
    if (!ops.isObject())
      return jsonError(ops, pointer, file_) << "expected an object of operators and rates";
    for (const auto &[op, value] : ops.members) {
      std::string at = pointerTo(pointer, op);
      CostRow row;
      row.op = BYCC_TRY(readOpName(op, value, at, file_));
      BYCC_TRY(checkKeys(value, {"gflops", "gb_per_s", "us", "comment"}, at, file_));
      BYCC_TRY(readTimes(value, at, row));
      cost_.add(std::move(row));
    }
    return {};
  }

  Expected<> readRows(const JsonValue &array, const std::string &pointer) {
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of rows";
    for (size_t i = 0; i < array.items.size(); ++i)
      BYCC_TRY(readRow(array.items[i], pointer + "/" + std::to_string(i)));
    return {};
  }

  Expected<> readRow(const JsonValue &object, const std::string &pointer) {
    BYCC_TRY(checkKeys(
        object,
        {"op", "composite", "class", "dtype", "threads", "gflops", "gb_per_s", "us", "comment"},
        pointer, file_));
    CostRow row;
    std::vector<OpId> ops = BYCC_TRY(readSubject(object, pointer, row));
    if (const JsonValue *dtype = object.find("dtype"))
      row.dtype = BYCC_TRY(readDType(*dtype, pointer + "/dtype", file_));
    if (const JsonValue *threads = object.find("threads"))
      row.threads = BYCC_TRY(readThreads(*threads, pointer + "/threads"));
    BYCC_TRY(readTimes(object, pointer, row));
    if (!row.flopsPerMicrosecond && !row.bytesPerMicrosecond && !row.microseconds)
      return jsonError(object, pointer, file_) << "expected 'gflops', 'gb_per_s' or 'us'";
    for (OpId op : ops) {
      row.op = op;
      if (const JsonValue *text = object.find("class"))
        row.callClass = BYCC_TRY(readClass(*text, pointer + "/class", op));
      if (row.callClass.isFused() && vendor_.name() != "host")
        return jsonError(object, pointer, file_)
               << "class 'fused' is of host code: a vendor's composites have rows of their own";
      cost_.add(row);
    }
    return {};
  }

  // The operators of a row, "nn.conv2d" or "nn.conv1d|nn.conv2d"; an invalid one for any, or
  // for a composite, which the row has then.
  Expected<std::vector<OpId>> readSubject(const JsonValue &object, const std::string &pointer,
                                          CostRow &row) {
    const JsonValue *op = object.find("op"), *composite = object.find("composite");
    if (!op == !composite)
      return jsonError(object, pointer, file_) << "expected either 'op' or 'composite'";
    if (op)
      return readOpNames(*op, pointer + "/op");
    if (!composite->isString())
      return jsonError(*composite, pointer + "/composite", file_)
             << "expected the name of a composite";
    row.composite = composite->string;
    BYCC_TRY(checkComposite(*composite, pointer + "/composite", file_, vendor_));
    return std::vector<OpId>{OpId()};
  }

  Expected<std::vector<OpId>> readOpNames(const JsonValue &value, const std::string &pointer) {
    if (!value.isString())
      return jsonError(value, pointer, file_) << "expected the name of an operator, or '*'";
    std::vector<OpId> ops;
    for (const std::string &name : split(value.string, '|'))
      ops.push_back(name == "*" ? OpId() : BYCC_TRY(readOpName(name, value, pointer, file_)));
    return ops;
  }

  Expected<CostClass> readClass(const JsonValue &value, const std::string &pointer, OpId op) {
    if (!value.isString())
      return jsonError(value, pointer, file_) << "expected the name of a class, or a comparison";
    Expected<CostClass> result = CostClass::parse(value.string, op, cost_.classes);
    if (!result)
      return jsonError(value, pointer, file_) << result.error().message();
    return result;
  }

  Expected<int32_t> readThreads(const JsonValue &value, const std::string &pointer) {
    if (!value.isInt() || value.integer < 1 || value.integer > INT32_MAX)
      return jsonError(value, pointer, file_) << "expected a number of threads";
    return static_cast<int32_t>(value.integer);
  }

  Expected<> readTimes(const JsonValue &object, const std::string &pointer, CostRow &row) {
    for (auto [key, unit, number] : {std::tuple("gflops", 1000, &row.flopsPerMicrosecond),
                                     {"gb_per_s", 1000, &row.bytesPerMicrosecond},
                                     {"us", 1, &row.microseconds}})
      if (const JsonValue *value = object.find(key))
        *number = BYCC_TRY(readAmount(*value, pointerTo(pointer, key), file_)) * unit;
    return {};
  }

  const std::string &file_;
  const Vendor &vendor_;
  CostModel cost_;
};

} // namespace

Expected<> readVendorCost(const JsonValue &object, const std::string &pointer,
                          const std::string &file, Vendor &vendor) {
  CostModel before = vendor.cost.value_or(CostModel());
  vendor.cost = BYCC_TRY(CostReader(file, vendor, std::move(before)).read(object, pointer));
  return {};
}

} // namespace bycc
