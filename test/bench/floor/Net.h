// The layers of a model in order, each as a primitive in a chosen form, with memory to run on.
//
// Every constant has pages of its own, filled. A tensor is one buffer that its writer and all its
// readers share, whatever layouts they prefer: no reorder runs, results mean nothing, but each
// layer finds its input where a real program would: as warm as the layer before left it. Buffers of
// tensors that are not alive together overlap, and a sum adds in place, as in any program that
// plans its memory.
#pragma once

#include "Primitives.h"

#include <memory>

namespace floor_bench {

class Net {
public:
  // Form by layer, one each. Exits when a layer cannot be made.
  Net(const std::vector<Layer> &layers, const std::vector<std::string> &forms);

  void run();
  // As run(); adds nothing but a clock reading between layers: times[i] becomes layer i's
  // milliseconds.
  void run(std::vector<double> &times);

  const Made &made(size_t layer) const { return steps_[layer].made; }

private:
  struct Step {
    Made made;
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  struct Life {
    size_t bytes, first, last;
    dnnl::memory::data_type type;
    bool isWritten;
    size_t offset = 0;
  };
  using Bytes = std::unique_ptr<char, void (*)(void *)>;

  std::string bufferOf(const Argument &argument) const;
  void placeSums();
  std::map<std::string, Life> lives() const;
  static size_t lowestOffset(const Life &life,
                             const std::vector<std::pair<std::string, Life>> &placed);
  void allocateTensors();
  void bind(Step &step);
  char *allocate(size_t bytes);
  void *dataOf(const Argument &argument);

  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::map<std::string, std::string> inPlace_; // tensor that a sum wrote -> tensor it added to
  std::map<std::string, char *> buffers_;
  std::vector<Bytes> memory_;
  char *scratchpad_ = nullptr;
  size_t scratchpadBytes_ = 0;
};

double milliseconds();

} // namespace floor_bench
