// page_end MODEL.json: runs a model whose input ends where the process has no more memory, and
// again with one in the middle of it. The results must be the same.
#include <bycc/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

static void check(int32_t status) {
  if (status == BYCC_OK)
    return;
  std::fprintf(stderr, "%s\n", bycc_last_error());
  std::exit(1);
}

static std::string results(bycc_context *context, const float *input, size_t bytes,
                           const int64_t *shape) {
  const void *data = nullptr;
  size_t size = 0;
  check(bycc_bind_input(context, 0, input, bytes, shape));
  check(bycc_run(context));
  check(bycc_get_output(context, 0, &data, nullptr, &size));
  return {static_cast<const char *>(data), size};
}

int main(int, char **argv) {
  bycc_model *model = nullptr;
  bycc_context *context = nullptr;
  check(bycc_model_load(argv[1], nullptr, &model));
  check(bycc_context_create(model, &context));
  const bycc_tensor_info &info = bycc_model_module(model)->inputs[0];
  std::vector<int64_t> shape;
  size_t count = 1;
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    shape.push_back(info.dims[axis].value);
    count *= static_cast<size_t>(shape.back());
  }
  size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE)), bytes = count * sizeof(float);
  size_t pages = (bytes + page - 1) / page * page;
  auto memory = static_cast<char *>(
      ::mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::mprotect(memory + pages, page, PROT_NONE);
  auto atEnd = reinterpret_cast<float *>(memory + pages - bytes);
  std::vector<float> inside(count + page, 7.0f);
  for (size_t i = 0; i < count; ++i)
    atEnd[i] = inside[i] = static_cast<float>(i * 31 % 67) / 16;
  bool isSame = results(context, atEnd, bytes, shape.data()) ==
                results(context, inside.data(), bytes, shape.data());
  bycc_context_destroy(context);
  bycc_model_destroy(model);
  return isSame ? 0 : 4;
}
