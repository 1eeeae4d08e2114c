// SPDX-License-Identifier: Apache-2.0
// What all benches print: header lines (commit, CPU, BLAS, method), rows by a pattern, the syntax
// that they share. Lane: main.
#pragma once

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/app/command.hpp"

namespace hearsay::runtime {

// printf to stdout, of up to 255 characters.
template <typename... Values>
void print(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  std::cout << text;
}

nlohmann::ordered_json bench_header(const char* bench);
void print_header(const nlohmann::ordered_json& header, const std::string& method);
CommandSyntax bench_syntax(const char* name, const char* summary);
// An option of one bench alone.
Option bench_option(const char* name, const char* standard, const char* placeholder,
                    const char* help);

// "a,b": the parts; none of an empty text.
std::vector<std::string> comma_parts(const std::string& text);

// `hearsay bench codec`, `kernels`, `record`, `scale` and `train` (bench_<name>_command.cpp).
int bench_codec_command(const std::vector<std::string>& args);
int bench_kernels_command(const std::vector<std::string>& args);
int bench_record_command(const std::vector<std::string>& args);
int bench_scale_command(const std::vector<std::string>& args);
int bench_train_command(const std::vector<std::string>& args);

}  // namespace hearsay::runtime
