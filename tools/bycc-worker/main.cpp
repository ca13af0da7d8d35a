// bycc-worker: runs the code of vendors, and passes of plugins, for bycc and libbycc, which start it. What they
// say to each other: lib/Target/WorkerProtocol.h.

#include "bycc/Target/PluginPass.h"
#include "bycc/Target/VendorWorker.h"
#include "bycc/Vendors/Builtin.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char **argv) {
  if (argc == 2)
    return bycc::serveVendors(bycc::builtinVendorCompilers(), std::atoi(argv[1]));
  if (argc == 4 && std::string_view(argv[1]) == "pass")
    return bycc::servePass(argv[2], argv[3]);
  std::fputs("bycc-worker is started by bycc\n", stderr);
  return 2;
}
