// SPDX-License-Identifier: Apache-2.0
// hearsay bench codec: bytes a message beside the entropy of its positions, and the time to encode
// and to decode it.
#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/core/errc.hpp"
#include "runtime/app/bench_output.hpp"
#include "runtime/bench/bench_codec.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/log/safetensors.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLeastValues = 2048, kMostValues = 4e9;

CommandSyntax codec_syntax() {
  CommandSyntax syntax = bench_syntax(
      "bench codec", "messages of codecs: bytes beside entropy, time, every value checked");
  syntax.own = {
      bench_option("sizes", "1e6", "LIST", "weights of a model, 2048 to 4e9"),
      bench_option("only", "", "LIST", "codecs whose texts contain one of these words"),
      bench_option("spec", "", "SPEC", "this codec alone, such as topk:0.5%+int4:block=32"),
      bench_option("models", "", "FILES", "go from model to model: A.safetensors,B.safetensors")};
  syntax.examples = {"hearsay bench codec --only topk",
                     "hearsay bench codec --models a.safetensors,b.safetensors",
                     "hearsay bench codec --spec blocks:10%+bf16"};
  return syntax;
}

std::vector<std::size_t> sizes_of(const Arguments& arguments) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : comma_parts(arguments.value("sizes").value_or("1e6"))) {
    const double size = parse_number("--sizes", part);
    if (size != std::floor(size) || size < kLeastValues || size > kMostValues)
      throw kernels::UsageError("--sizes: " + part + " is no number of weights from 2048 to 4e9");
    sizes.push_back(static_cast<std::size_t>(size));
  }
  return sizes;
}

std::vector<Spec> specs_of(const Arguments& arguments) {
  std::vector<Spec> specs;
  if (const auto one = arguments.value("spec")) {
    specs.push_back(parse_spec("--spec", *one));
    const auto settings = codec_settings(specs.back());
    if (!settings || settings->kind == gossip::CodecSettings::Kind::ladder) {
      throw kernels::UsageError("--spec: '" + *one +
                                "' writes nothing itself; try bf16 or topk:1%");
    }
    return specs;
  }
  const auto only = comma_parts(arguments.value("only").value_or(""));
  for (const std::string& text : bench_codec_specs()) {
    const bool is_meant =
        only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& word) {
          return text.find(word) != std::string::npos;
        });
    if (is_meant) specs.push_back(parse_spec("--spec", text));
  }
  if (specs.empty())
    throw kernels::UsageError("--only: no codec of the list contains that; try --spec");
  return specs;
}

std::optional<ModelWalk> walk_of(const Arguments& arguments) {
  const auto given = arguments.value("models");
  if (!given) return std::nullopt;
  if (arguments.value("sizes"))
    throw kernels::UsageError("--models: their weights are as many as they are; leave out --sizes");
  const auto paths = comma_parts(*given);
  if (paths.size() < 2)
    throw kernels::UsageError("--models: two files and more, such as the exports of two runs");
  ModelWalk walk{.name = "models", .layout = {}, .models = {}};
  for (const std::string& path : paths) {
    const TensorFile file = read_safetensors(path);
    const std::span<const float> values = file.values.span();
    if (walk.models.empty()) walk.layout = file.layout;
    if (!file.layout.first_difference(walk.layout).empty())
      throw kernels::UsageError("--models: " + path + " has other tensors than " + paths[0]);
    const bool is_finite =
        std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    if (values.size() < static_cast<std::size_t>(kLeastValues) || !is_finite)
      throw kernels::UsageError("--models: " + path + " needs 2048 weights, all of them finite");
    walk.models.emplace_back(values.begin(), values.end());
  }
  return walk;
}

bool is_low_rank(const Spec& spec) {
  return codec_settings(spec)->kind == gossip::CodecSettings::Kind::low_rank;
}

Json row_json(const CodecRow& row) {
  return {{"op", row.codec},
          {"drift", row.drift},
          {"n", row.n},
          {"bytes", row.message_bytes},
          {"said", row.said},
          {"bits_a_weight", row.bits_a_weight()},
          {"bits_of_said", row.bits_of_said()},
          {"bound_bits", row.bound_bits},
          {"error", row.error},
          {"encode_us", row.encode_p50_s * 1e6},
          {"decode_us", row.decode_p50_s * 1e6},
          {"encode_mb_per_s", 4e-6 * row.weights_per_s(row.encode_p50_s)},
          {"decode_mb_per_s", 4e-6 * row.weights_per_s(row.decode_p50_s)},
          {"wrong", row.wrong}};
}

void print_row(const CodecRow& row) {
  print("   %-21s  %-9s  %9zu  %9.0f  %8.4f  %7.2f  %7.2f  %6.4f  %8.0f  %8.0f  %5llu\n",
        row.codec.c_str(), row.drift.c_str(), row.n, row.message_bytes, row.bits_a_weight(),
        row.bits_of_said(), row.bound_bits, row.error, 4e-6 * row.weights_per_s(row.encode_p50_s),
        4e-6 * row.weights_per_s(row.decode_p50_s), static_cast<unsigned long long>(row.wrong));
  std::cout.flush();
}

}  // namespace

int bench_codec_command(const std::vector<std::string>& args) {
  const CommandSyntax syntax = codec_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const bool as_json = wants_json(arguments);
  const auto sizes = sizes_of(arguments);
  const auto specs = specs_of(arguments);
  const auto walk = walk_of(arguments);
  if (walk && specs.size() == 1 && is_low_rank(specs[0]))
    throw kernels::UsageError("--models: low-rank messages are measured on a matrix of their own");
  Json json{{"header", bench_header("codec")}, {"rows", Json::array()}};
  if (!as_json) {
    print_header(
        json["header"],
        "1 thread, medians of 25 messages; bits of a weight of the model, of one that is "
        "said, and of that by entropy:\n# H(rho)/rho for its position if the message names "
        "it, and its value; error: |heard - w| / |w - start| of who has heard all 25;\n# MB/s of "
        "weights (4 n bytes); every value checked");
    print(
        "#  codec                  drift              n      bytes    bits_n   bits_k    bound   "
        "error  "
        "enc_MB/s  dec_MB/s  wrong\n");
  }
  std::uint64_t wrong = 0;
  const auto tell = [&](const CodecRow& row) {
    wrong += row.wrong;
    json["rows"].push_back(row_json(row));
    if (!as_json) print_row(row);
  };
  for (const Spec& spec : specs) {
    if (walk && !is_low_rank(spec)) tell(bench_codec(spec, *walk));
  }
  for (const std::size_t n : sizes) {
    if (walk) break;
    for (const Spec& spec : specs) {
      for (const Drift drift : kDrifts) {
        tell(bench_codec(spec, n, drift));
      }
    }
  }
  if (as_json) std::cout << json.dump(2) << "\n";
  return wrong == 0 ? 0 : 1;
}

}  // namespace hearsay::runtime
