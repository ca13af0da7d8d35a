#include "Arrays.h"

#include "Errors.h"

#include <cstring>

namespace bycc::python {
namespace {

constexpr const char *names[] = {"bool",     "int8",    "int16",  "int32",  "int64",
                                 "uint8",    "uint16",  "uint32", "uint64", "float16",
                                 "bfloat16", "float32", "float64"};
constexpr size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
constexpr int32_t numDTypes = 13;

// The dtype of a code of the struct module and its size; -1: a model has none such.
int32_t dtypeOfFormat(const char *format, Py_ssize_t size) {
  if (!format)
    return BYCC_UINT8;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (format[0] == '\0' || format[1] != '\0')
    return -1;
  if (*format == '?')
    return BYCC_BOOL;
  auto bySize = [size](int32_t one) {
    return size == 1 ? one : size == 2 ? one + 1 : size == 4 ? one + 2 : size == 8 ? one + 3 : -1;
  };
  if (std::strchr("bhilqn", *format))
    return bySize(BYCC_INT8);
  if (std::strchr("BHILQN", *format))
    return bySize(BYCC_UINT8);
  if (std::strchr("efd", *format))
    return size == 2 ? BYCC_FLOAT16 : size == 4 ? BYCC_FLOAT32 : size == 8 ? BYCC_FLOAT64 : -1;
  return -1;
}

int32_t dtypeOf(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1)
    return -1;
  auto bySize = [bits = dtype.bits](int32_t one) {
    return bits == 8    ? one
           : bits == 16 ? one + 1
           : bits == 32 ? one + 2
           : bits == 64 ? one + 3
                        : -1;
  };
  switch (static_cast<Code>(dtype.code)) {
  case Code::Bool:
    return dtype.bits == 8 ? BYCC_BOOL : -1;
  case Code::Int:
    return bySize(BYCC_INT8);
  case Code::UInt:
    return bySize(BYCC_UINT8);
  case Code::Bfloat:
    return dtype.bits == 16 ? BYCC_BFLOAT16 : -1;
  case Code::Float:
    return dtype.bits == 16   ? BYCC_FLOAT16
           : dtype.bits == 32 ? BYCC_FLOAT32
           : dtype.bits == 64 ? BYCC_FLOAT64
                              : -1;
  default:
    return -1;
  }
}

std::string typeNameOf(nb::handle value) {
  return nb::cast<std::string>(value.type().attr("__name__"));
}

std::string quoted(const bycc_tensor_info &info) { return "'" + std::string(info.name) + "'"; }

// Of torch, if the program has it.
struct Torch {
  nb::object tensor, bfloat16, int16, fromNumPy;
  // Null where torch is not loaded.
  static const Torch *get() {
    static const Torch *torch = nullptr;
    if (!torch) {
      nb::dict modules(nb::module_::import_("sys").attr("modules"));
      if (!modules.contains("torch") || !nb::hasattr(modules["torch"], "from_numpy"))
        return nullptr; // or is being imported
      nb::object module = modules["torch"];
      torch = new Torch{module.attr("Tensor"), module.attr("bfloat16"), module.attr("int16"),
                        module.attr("from_numpy")};
    }
    return torch;
  }
  bool has(nb::handle value) const { return nb::isinstance(value, tensor); }
  // Its memory for NumPy, which has no bfloat16. Raises what torch does, as for tensors
  // that want a gradient.
  nb::object asNumPy(nb::handle value) const {
    if (!value.attr("dtype").is(bfloat16))
      return value.attr("numpy")();
    return value.attr("view")(int16).attr("numpy")();
  }
};

[[noreturn]] void raiseOtherDevice() {
  raiseArg("the array is on another device; models run on the CPU: x.cpu()");
}

// Numbers and lists have no dtype of their own: they get the one that is wanted.
bool hasNoDType(nb::handle value) {
  return PyFloat_CheckExact(value.ptr()) || PyLong_CheckExact(value.ptr()) ||
         PyBool_Check(value.ptr()) || PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

} // namespace

const char *dtypeName(int32_t dtype) {
  return dtype >= 0 && dtype < numDTypes ? names[dtype] : "an unknown dtype";
}

size_t dtypeBytes(int32_t dtype) { return sizes[dtype]; }

std::string shapeText(const int64_t *shape, int32_t rank) {
  std::string text = "(";
  for (int32_t d = 0; d < rank; ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + (rank == 1 ? ",)" : ")");
}

std::string typeText(const bycc_tensor_info &info) {
  std::string text = std::string(dtypeName(info.dtype)) + " (";
  for (int32_t d = 0; d < info.rank; ++d) {
    const bycc_dim &dim = info.dims[d];
    text += (d ? ", " : "") + (dim.value >= 0 ? std::to_string(dim.value) : std::string(dim.text));
  }
  return text + (info.rank == 1 ? ",)" : ")");
}

const NumPy &NumPy::get() {
  static NumPy *numpy = nullptr; // never destroyed: Python is gone by then
  if (!numpy) {
    nb::module_ module = nb::module_::import_("numpy");
    auto made = new NumPy;
    made->empty = module.attr("empty");
    made->array = module.attr("array");
    made->ascontiguousarray = module.attr("ascontiguousarray");
    made->fromDlpack = module.attr("from_dlpack");
    for (int32_t i = 0; i < numDTypes; ++i)
      made->dtypes[i] = module.attr("dtype")(
          i == BYCC_BFLOAT16 ? nb::object(nb::module_::import_("ml_dtypes").attr("bfloat16"))
                             : nb::object(nb::str(names[i])));
    numpy = made;
  }
  return *numpy;
}

void InputArray::release() {
  if (hasBuffer_)
    PyBuffer_Release(&buffer_);
  hasBuffer_ = false;
}

bool InputArray::takeBuffer(nb::handle value) {
  if (!PyObject_CheckBuffer(value.ptr()))
    return false;
  if (PyObject_GetBuffer(value.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  hasBuffer_ = true;
  if (buffer_.ndim > maxRank)
    raiseArg("an array of rank " + std::to_string(buffer_.ndim));
  if (!PyBuffer_IsContiguous(&buffer_, 'C')) {
    release();
    nb::object copy = NumPy::get().ascontiguousarray(value);
    if (PyObject_GetBuffer(copy.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0)
      throw nb::python_error();
    hasBuffer_ = true; // and it holds the copy
  }
  data_ = buffer_.buf;
  rank_ = buffer_.ndim;
  dtype_ = dtypeOfFormat(buffer_.format, buffer_.itemsize);
  bytes_ = static_cast<size_t>(buffer_.len);
  for (int32_t d = 0; d < rank_; ++d)
    shape_[d] = buffer_.shape[d];
  return true;
}

bool InputArray::takeBfloat16(nb::handle value) {
  if (!nb::hasattr(value, "dtype") || !nb::hasattr(value, "__array_interface__") ||
      !value.attr("dtype").equal(NumPy::get().dtypes[BYCC_BFLOAT16]))
    return false;
  keep_ = value.attr("view")(NumPy::get().dtypes[BYCC_INT16]);
  if (!takeBuffer(keep_))
    return false;
  dtype_ = BYCC_BFLOAT16;
  return true;
}

bool InputArray::takeTorch(nb::handle value) {
  const Torch *torch = Torch::get();
  if (!torch || !torch->has(value))
    return false;
  if (!nb::cast<bool>(value.attr("is_cpu")))
    raiseOtherDevice();
  keep_ = torch->asNumPy(value);
  isTorch_ = takeBuffer(keep_);
  if (isTorch_ && dtype_ == BYCC_INT16 && value.attr("dtype").is(torch->bfloat16))
    dtype_ = BYCC_BFLOAT16;
  return isTorch_;
}

bool InputArray::takeDlpack(nb::handle value) {
  if (!nb::hasattr(value, "__dlpack__"))
    return false;
  if (nb::hasattr(value, "__dlpack_device__")) {
    nb::tuple device(value.attr("__dlpack_device__")());
    if (nb::cast<int>(device[0]) != nb::device::cpu::value)
      raiseOtherDevice();
  }
  nb::object capsule = value.attr("__dlpack__")();
  auto array = nb::cast<nb::ndarray<nb::ro>>(capsule);
  if (array.ndim() > maxRank)
    raiseArg("an array of rank " + std::to_string(array.ndim()));
  int64_t dense = 1;
  bool isDense = true;
  for (size_t d = array.ndim(); d-- > 0;) {
    isDense &= array.shape(d) == 1 || array.stride(d) == dense;
    dense *= static_cast<int64_t>(array.shape(d));
    shape_[d] = static_cast<int64_t>(array.shape(d));
  }
  if (!isDense && dense != 0)
    return takeBuffer(NumPy::get().ascontiguousarray(NumPy::get().fromDlpack(value)));
  data_ = array.data();
  rank_ = static_cast<int32_t>(array.ndim());
  dtype_ = dtypeOf(array.dtype());
  bytes_ = array.nbytes();
  dlpack_ = std::move(array);
  return true;
}

void InputArray::check(const bycc_tensor_info &wanted) const {
  bool fits = dtype_ == wanted.dtype && rank_ == wanted.rank;
  for (int32_t d = 0; fits && d < rank_; ++d)
    fits = wanted.dims[d].value < 0 || wanted.dims[d].value == shape_[d];
  if (fits)
    return;
  std::string text = "input " + quoted(wanted) + ": wanted " + typeText(wanted) + ", given " +
                     dtypeName(dtype_) + " " + shapeText(shape_, rank_);
  if (dtype_ != wanted.dtype)
    text += isTorch_
                ? "\nnote: x.to(torch." + std::string(dtypeName(wanted.dtype)) + ") converts it"
                : "\nnote: x.astype(\"" + std::string(dtypeName(wanted.dtype)) + "\") converts it";
  raiseArg(text);
}

void InputArray::take(nb::handle value, const bycc_tensor_info &wanted) {
  bool isTaken = takeBuffer(value) || takeTorch(value) || takeBfloat16(value) || takeDlpack(value);
  if (!isTaken && hasNoDType(value)) {
    keep_ = NumPy::get().array(value, NumPy::get().dtypes[wanted.dtype]);
    isTaken = takeBuffer(keep_) || takeBfloat16(nb::object(keep_));
  }
  if (!isTaken)
    raiseArg("input " + quoted(wanted) + ": wanted " + typeText(wanted) + ", given " +
             typeNameOf(value) + ", which is no array");
  check(wanted);
}

void OutputArray::release() {
  if (hasBuffer_)
    PyBuffer_Release(&buffer_);
  hasBuffer_ = false;
}

void OutputArray::open() {
  if (PyObject_GetBuffer(array_.ptr(), &buffer_, PyBUF_WRITABLE | PyBUF_ND) != 0)
    throw nb::python_error();
  hasBuffer_ = true;
  data_ = buffer_.buf;
  bytes_ = static_cast<size_t>(buffer_.len);
}

void OutputArray::make(int32_t dtype, nb::handle shape) {
  const NumPy &numpy = NumPy::get();
  dtype_ = dtype;
  int32_t stored = dtype == BYCC_BFLOAT16 ? BYCC_INT16 : dtype;
  PyObject *arguments[] = {shape.ptr(), numpy.dtypes[stored].ptr()};
  array_ = nb::steal(PyObject_Vectorcall(numpy.empty.ptr(), arguments, 2, nullptr));
  if (!array_.is_valid())
    throw nb::python_error();
  open();
}

void OutputArray::take(nb::handle value, const bycc_tensor_info &wanted) {
  isTaken_ = true;
  given_ = nb::borrow(value);
  dtype_ = wanted.dtype;
  std::string name = "output " + quoted(wanted);
  nb::object array = given_;
  const Torch *torch = Torch::get();
  bool isBfloat16 = false;
  if (torch && torch->has(value)) {
    array = torch->asNumPy(value);
    isBfloat16 = value.attr("dtype").is(torch->bfloat16);
  } else if (nb::hasattr(value, "dtype") && wanted.dtype == BYCC_BFLOAT16 &&
             value.attr("dtype").equal(NumPy::get().dtypes[BYCC_BFLOAT16])) {
    array = array.attr("view")(NumPy::get().dtypes[BYCC_INT16]);
    isBfloat16 = true;
  }
  if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_RECORDS) != 0) {
    PyErr_Clear();
    raiseArg(name + ": given " + typeNameOf(value) + ", which is no array that can be written to");
  }
  hasBuffer_ = true;
  array_ = array;
  int32_t given = dtypeOfFormat(buffer_.format, buffer_.itemsize);
  if (given == BYCC_INT16 && isBfloat16)
    given = BYCC_BFLOAT16;
  shape_.assign(buffer_.shape, buffer_.shape + buffer_.ndim);
  bool fits = given == wanted.dtype && buffer_.ndim == wanted.rank;
  for (int32_t d = 0; fits && d < wanted.rank; ++d)
    fits = wanted.dims[d].value < 0 || wanted.dims[d].value == shape_[d];
  if (!fits)
    raiseArg(name + ": wanted " + typeText(wanted) + ", given " + dtypeName(given) + " " +
             shapeText(shape_.data(), buffer_.ndim));
  if (!PyBuffer_IsContiguous(&buffer_, 'C'))
    raiseArg(name + ": the array that is given is not row-major");
  data_ = buffer_.buf;
  bytes_ = static_cast<size_t>(buffer_.len);
}

nb::object OutputArray::finish(bool asTorch) {
  release();
  if (isTaken_)
    return given_;
  if (asTorch) {
    const Torch *torch = Torch::get(); // an input is of it
    nb::object tensor = torch->fromNumPy(array_);
    return dtype_ == BYCC_BFLOAT16 ? tensor.attr("view")(torch->bfloat16) : tensor;
  }
  if (dtype_ == BYCC_BFLOAT16)
    return array_.attr("view")(NumPy::get().dtypes[BYCC_BFLOAT16]);
  return std::move(array_);
}

} // namespace bycc::python
