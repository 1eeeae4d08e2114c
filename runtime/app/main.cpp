// SPDX-License-Identifier: Apache-2.0
// The front binary. Everything is in command.cpp, so that tests can call it.
#include "runtime/app/command.hpp"

int main(int argc, char** argv) {
  return hearsay::runtime::run_command_line({argv + (argc > 0 ? 1 : 0), argv + argc});
}
