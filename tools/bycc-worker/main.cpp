// bycc-worker: runs the code of vendors for bycc and libbycc, which start it. What they
// say to each other: lib/Target/WorkerProtocol.h.

#include "bycc/Target/VendorWorker.h"
#include "bycc/Vendors/Builtin.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  if (argc == 2)
    return bycc::serveVendors(bycc::builtinVendorCompilers(), std::atoi(argv[1]));
  std::fputs("bycc-worker is started by bycc\n", stderr);
  return 2;
}
