// bycc-worker of a later release: vendor.h is the one that grow.py makes. It has no built-in
// vendors. $VENDOR_ABI_LOG gets the size of a value as this program knows it.
#include "bycc/Target/VendorWorker.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  if (const char *path = std::getenv("VENDOR_ABI_LOG"))
    if (std::FILE *log = std::fopen(path, "a")) {
      std::fprintf(log, "%zu\n", sizeof(bycc_value));
      std::fclose(log);
    }
  return bycc::serveVendors({}, std::atoi(argv[1]));
}
