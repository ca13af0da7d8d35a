// bycc._runtime: the C API of the runtime for Python. No LLVM.
#include "Model.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace bycc::python;

namespace {

int blockBuffer(PyObject *self, Py_buffer *view, int flags) {
  const Block &block = *nb::inst_ptr<Block>(self);
  return PyBuffer_FillInfo(view, self, block.data(), static_cast<Py_ssize_t>(block.size()), 0,
                           flags);
}

PyType_Slot blockSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void *>(blockBuffer)}, {0, nullptr}};

} // namespace

NB_MODULE(_runtime, module) {
  nb::set_leak_warnings(false); // models may live in globals when Python ends
  module.doc() = "The runtime of bycc: loads and runs compiled models.";
  module.def("version", &bycc_runtime_version, "The version of the runtime.");

  module.def("guard_files", &bycc_guard_files,
             "From now on a file of weights that gets shorter while a run reads it is an error of "
             "the run; else the system ends the program with SIGBUS. Takes that signal, once for "
             "the program; other SIGBUS goes where it went before.");

  nb::class_<Block>(module, "Block", nb::type_slots(blockSlots),
                    "Memory for the weights of a model, a buffer that can be written to.")
      .def(nb::init<size_t>(), "bytes"_a)
      .def("__len__", &Block::size);

  nb::class_<Model>(module, "Model", nb::is_weak_referenceable(), "A loaded model.")
      .def(nb::init<const std::string &, int32_t, bool, const std::string &>(), "path"_a,
           "threads"_a = 0, "verify"_a = false, "set_id"_a = "")
      .def(nb::init<const std::string &, nb::bytes, nb::bytes, const Block *, int32_t>(), "name"_a,
           "graph_json"_a, "object"_a, "params"_a.none(), "threads"_a = 0)
      .def("__call__", &Model::call,
           nb::sig("def __call__(self, *inputs: typing.Any, **named: typing.Any) -> typing.Any"),
           "Runs the model: inputs by position or by name, as arrays. Gives the output, or a tuple "
           "of several: NumPy arrays, or torch tensors where an input is one.")
      .def("run", &Model::run, "inputs"_a, "out"_a = nb::none(),
           nb::sig("def run(self, inputs: typing.Mapping[str, typing.Any], out: "
                   "typing.Mapping[str, typing.Any] | None = None) -> dict[str, typing.Any]"),
           "Runs the model with inputs by name; gives outputs by name. `out` has arrays, by name, "
           "that results are written to.")
      .def("_profile", &Model::profile, "inputs"_a, "runs"_a = 1,
           nb::sig("def _profile(self, inputs: dict[str, typing.Any], runs: int = 1) -> "
                   "list[tuple[typing.Any, ...]]"))
      .def("_inputs", &Model::inputs,
           nb::sig("def _inputs(self) -> list[tuple[str, str, tuple[int | str, ...]]]"))
      .def("_outputs", &Model::outputs,
           nb::sig("def _outputs(self) -> list[tuple[str, str, tuple[int | str, ...]]]"))
      .def_prop_ro("set_id", &Model::setId, "The id of the build, in hexadecimal.")
      .def_prop_ro("threads", &Model::threads, "Threads that a run uses.")
      .def_prop_ro(
          "name", [](const Model &model) { return model.module().name; },
          "The name of the compiled module.")
      .def_prop_ro(
          "cpu", [](const Model &model) { return model.module().cpu; },
          "The CPU that the model is compiled for.")
      .def_prop_ro(
          "arena_bytes", [](const Model &model) { return model.module().arena_bytes; },
          "Memory of one run.");
}
