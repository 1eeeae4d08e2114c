// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/bench_output.hpp"

#include <sstream>

#include "kernels/ops/gemm.hpp"
#include "runtime/app/machine.hpp"
#include "runtime/app/version.hpp"

namespace hearsay::runtime {

nlohmann::ordered_json bench_header(const char* bench) {
  nlohmann::ordered_json j;
  j["bench"] = bench;
  j["version"] = version_number();
  j["git"] = git_commit();
  j["build"] = build_text();
  j["cpu"] = cpu_facts().model;
  j["blas"] = kernels::blas_description();
  return j;
}

void print_header(const nlohmann::ordered_json& header, const std::string& method) {
  std::cout << "# hearsay bench " << header["bench"].get<std::string>() << "  git "
            << header["git"].get<std::string>() << "  cpu " << header["cpu"].get<std::string>()
            << "  " << header["blas"].get<std::string>() << "\n# " << method << "\n";
}

std::vector<std::string> comma_parts(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

CommandSyntax bench_syntax(const char* name, const char* summary) {
  CommandSyntax syntax;
  syntax.name = name;
  syntax.summary = summary;
  syntax.options = {"json"};
  return syntax;
}

Option bench_option(const char* name, const char* standard, const char* placeholder,
                    const char* help) {
  return Option{.name = name,
                .default_text = standard,
                .placeholder = placeholder,
                .help = help,
                .detail = "",
                .group = "bench"};
}

}  // namespace hearsay::runtime
