// The way from our programs into libbycc.
#pragma once

// Of "bycc" or "bycc-opt"; returns the exit code.
extern "C" int bycc_private_main(const char *program, int argc, char **argv);
