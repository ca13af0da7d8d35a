// bycc: model in, object file and graph JSON out.

#include "cli/Main.h"

int main(int argc, char **argv) { return bycc_private_main("bycc", argc, argv); }
