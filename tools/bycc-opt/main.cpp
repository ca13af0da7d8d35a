// bycc-opt: passes only, Relay text in, Relay text out.

#include "cli/Main.h"

int main(int argc, char **argv) { return bycc_private_main("bycc-opt", argc, argv); }
