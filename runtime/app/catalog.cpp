// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/catalog.hpp"

#include <algorithm>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/catalog_examples.hpp"

namespace hearsay::runtime {

namespace {

CatalogSection protocols() {
  return {
      "protocol",
      "protocol",
      {{"pairwise", "pairwise", "two peers move towards each other; the pool's mean is kept",
        "2 messages, 8N bytes an exchange (4N each way)"},
       {"push", "push", "the initiator sends, only the receiver changes",
        "1 message, 4N bytes a merge"},
       {"push-sum", "push-sum", "push with a weight, so that one-way messages keep the mean",
        "1 message, 4N bytes a merge; the weight is in the header"},
       {"choco", "choco | choco:gamma=0.1",
        "differences to published copies, to all neighbours at once; the pool's mean is kept",
        "1 message a neighbour, as --codec; 4N bytes of memory a copy"},
       {"local", "local", "baseline: nobody talks", "0 messages, 0 bytes"},
       {"ddp", "ddp | ddp:feedback=ef|ef21|dgc|none",
        "baseline: all sum every mini-batch's gradients; in a codec, the rest is said later",
        "2(n-1) messages, 8N(n-1)/n bytes a peer and step; in a codec n-1; 24N of memory, dgc 32N"},
       {"diloco", "diloco | diloco:lr=0.7,mu=0.9,feedback=ef|ef21|none",
        "baseline: all average their weights every --merge-every epochs, then Nesterov's step",
        "as ddp, a round instead of a step; 8N bytes of memory"}},
      {}};
}

CatalogSection topologies() {
  return {
      "topology",
      "topology",
      {{"uniform", "uniform", "any live peer, all equally likely",
        "n-1 partners; disagreement halves in O(1) merges a peer"},
       {"ring", "ring", "the two neighbours on a ring",
        "2 partners; spectral gap ~ 13/n^2, slow beyond 16 peers"},
       {"exp", "exp", "the peers 1, 2, 4, ... places further on",
        "ceil(log2 n) partners; gap 2/(ceil(log2 n) + 1)"},
       {"regular", "regular:d=4", "a random graph in which every peer has d partners",
        "d partners; gap about 1 - 2 sqrt(d-1)/d"},
       {"file", "file:graph.json", "a graph of your own", "as many partners as the file lists"}},
      {}};
}

CatalogSection merge_rules() {
  return {
      "merge",
      "merge rule",
      {{"ema", "ema:A | ema:a=A..B,shape=linear|cosine",
        "w += A (w_in - w); A is the share of the incoming model",
        "12 B/value (read w and w_in, write w)"},
       {"sample-weighted", "sample-weighted",
        "the share is that of the samples trained since the two last met",
        "12 B/value (read w and w_in, write w)"},
       {"median", "median:b=5,a=0.5",
        "holds b models of different peers, moves by a to their median (own weights included)",
        "b + 1 models held, 4 (b + 2) B/value a merge; b times the waiting"},
       {"trimmed-mean", "trimmed-mean:b=5,f=1,a=0.5",
        "the mean without the f lowest and f highest values; b >= 2 f + 1", "as median"},
       {"krum", "krum:b=5,f=1,a=0.5", "moves to the one model that is nearest to most others",
        "b^2 / 2 distances of 8 B/value; b times the waiting"}},
      {{"staleness", "+staleness:half-life=20",
        "old models count less: 2^(-age / half-life), in mini-batches", "0 B/value"},
       {"confidence", "+confidence:g=2",
        "share c_in^g / (c_in^g + c^g) of the validation confidences",
        "an evaluation of the incoming model on the probe set a merge"},
       {"alike", "+alike:g=1",
        "models of peers that train alike count more: ((1 + cosine of directions) / 2)^g",
        "O(peers x sketch) a merge; needs --cluster agglo"},
       {"norm-clip", "+norm-clip",
        "moves no further than twice the median distance of the last 16 senders", "0 B/value"},
       {"cosine-gate", "+cosine-gate:0",
        "refuses models that moved against the own movement (cosine below 0)", "0 B/value"},
       {"gate", "+gate:kappa=1",
        "refuses what raises the probe loss by more than kappa standard errors; tries a / 2, a / 4",
        "2, 4 or 6 passes over the probe set a merge"}}};
}

CatalogSection codecs() {
  return {
      "codec",
      "codec",
      {{"raw", "raw", "all weights as they are", "4N bytes a message"},
       {"auto", "auto", "raw, int8, int4 or blocks, by how busy the link is",
        "memory of all of them, 12N bytes"},
       {"fp32", "fp32", "the same as a message of the codec, to compare", "4N bytes"},
       {"bf16", "bf16", "all weights, the way from the start in 16 bits", "2N bytes"},
       {"int8", "int8:block=64", "all weights, 8 bits and a scale a block", "1.03N bytes"},
       {"int4", "int4:block=64", "all weights, 4 bits and a scale a block", "0.53N bytes"},
       {"lloyd3", "lloyd3:block=64", "all weights, 3 bits: the levels that err least",
        "0.41N bytes"},
       {"lloyd2", "lloyd2:block=64", "the same in 2 bits", "0.28N bytes"},
       {"sign", "sign:block=64", "the same in 1 bit: the sign and a mean magnitude a block",
        "0.16N bytes"},
       {"topk", "topk:1%", "the weights that differ most from what was said of them last",
        "at 1 %: 0.05N bytes, 0.02N with +int8; 4N bytes of memory; one pass of selection"},
       {"threshold", "threshold:1%", "those that differ by more than a threshold, which learns",
        "as topk, a cheaper pass; the share is approximate"},
       {"ma", "ma:1%,beta=0.9", "those whose changes have the largest moving average",
        "as topk, 4N more bytes of memory; rule=literal: a threshold, any number of weights"},
       {"score", "score:1%,beta=0.9", "the largest changes times a moving average of steps",
        "as topk, 8N more bytes of memory"},
       {"randk", "randk:1%", "weights drawn at random; a seed names them", "0.04N bytes at 1 %"},
       {"blocks", "blocks:6.25%,size=64", "whole blocks in a random order, each once a round",
        "0.25N bytes at 6.25 %, 0.06N with +int8"},
       {"lowrank", "lowrank:4", "each matrix along the 4 directions in which it has changed most",
        "16 (rows + columns) bytes a matrix, an answer 16 columns; 8N bytes of memory"},
       {"lossless", "lossless | lossless:anchor=32",
        "the weights in bf16, exactly: bits that differ from what the partner holds, with a digest",
        "2N bytes at most, 3 a changed weight; 8N bytes of memory a partner"}},
      {{"fp32", "+fp32", "values as they are (sparse ones, the default)", "4 B a value"},
       {"bf16", "+bf16", "values in 16 bits", "2 B a value"},
       {"int8", "+int8:block=64", "values in 8 bits", "1.03 B a value"},
       {"int4", "+int4:block=64", "values in 4 bits", "0.53 B a value"},
       {"lloyd3", "+lloyd3:block=64", "values in 3 bits, the levels that err least; with +mirror",
        "0.41 B a value"},
       {"lloyd2", "+lloyd2:block=64", "values in 2 bits", "0.28 B a value"},
       {"sign", "+sign:block=64", "values in 1 bit", "0.16 B a value"},
       {"auto", "+auto",
        "in 2, 3, 4 or 8 bits, as the distance between peers asks for; with +mirror",
        "0.28 to 1.03 B a value"},
       {"sr", "+sr", "rounds up or down by chance, without bias", "random bits"},
       {"ef", "+ef", "rounds to nearest; what is lost is said later", "4N bytes of memory"},
       {"qm", "+qm:ef,b=0.7", "says b of the way: ef, on_support or literal; with +int8 or +int4",
        "4N bytes of memory; literal says more weights"},
       {"density", "+density:slow=0.1%,fast=1%",
        "more weights where the probe loss stands still, fewer where it falls",
        "a tenth of the data for probes; 4N bytes of memory"},
       {"mirror", "+mirror", "answers speak of the same weights, so the pool's mean is kept",
        "no positions in answers"}}};
}

CatalogSection outers() {
  return {"outer",
          "outer optimiser",
          {{"none", "none", "merges move the weights", "nothing"},
           {"nesterov", "nesterov | nesterov:lr=0.7,mu=0.9",
            "after each block Nesterov's step from the slow weights, of the own block alone",
            "8N bytes of memory; 40 B/value a block"},
           {"noloco", "noloco | noloco:a=0.7,gamma=0.7,mu=0.5",
            "at each merge a step with momentum, of both partners' blocks",
            "8N bytes of memory; 40 B/value a merge"},
           {"delayed", "delayed | delayed:lr=0.7,mu=0.9,n=4,c=0",
            "at each merge a plain step, at every n-th the momentum of all of them",
            "12N bytes of memory; 48 B/value a merge"}},
          {}};
}

CatalogSection shares() {
  return {"share",
          "share",
          {{"off", "off", "weights alone", "0 bytes"},
           {"sketch", "sketch:1024 | sketch:1024,memory=0.97",
            "in which direction the last blocks of a peer went, for --cluster agglo",
            "15 (2M + 12) bytes a message at most, M values; 12 B/value a block"},
           {"hard", "hard:64,by=sender,mode=swap",
            "RAW EXAMPLES of the own data go to the partner after a merge, and its to this peer",
            "so many images a merge and side; receipts of 64 bytes"}},
          {{"sketch", "+sketch:1024", "beside hard", "as above"},
           {"hard", "+hard:64", "beside sketch", "as above"}}};
}

CatalogSection clusterings() {
  return {"cluster",
          "clustering",
          {{"off", "off", "all neighbours are alike", "nothing"},
           {"agglo", "agglo:average,every=2,e=0.05,schedule=never,cut=silhouette | agglo:soft=0.2",
            "finds from sketches who is alike; a share e goes outside; soft: by exp(-distance/0.2)",
            "n^2 M every so many merges, if it looks like groups 20 times that"},
           {"given", "given:groups=2,e=0.05,schedule=never",
            "as many equal groups of neighbours, as +rotate makes them", "O(n) a merge"}},
          {}};
}

CatalogSection networks() {
  return {"net",
          "network model",
          {{"lan", "lan", "1 Gb/s and 0.2 ms a link", "0.2 ms + 32N / 1e9 s a message"},
           {"ideal", "ideal", "no latency and no limit: only waiting counts", "0 s a message"},
           {"link", "link:bandwidth=1Gb/s,latency=0.2ms,jitter=0", "a link of your own",
            "latency + bits / bandwidth a message"}},
          {}};
}

CatalogSection compute_models() {
  return {"compute",
          "compute model",
          {{"fixed", "fixed | fixed:5ms",
            "every mini-batch takes the same virtual time, times the peer's slowness",
            "1 ms a mini-batch unless said"},
           {"jitter", "jitter:cv=0.2 | jitter:cv=0.2,step=1ms,stragglers=10%*4,pause=1%*50ms",
            "times vary; both: a share of slow peers, and of mini-batches that wait",
            "1 ms a mini-batch on average"}},
          {}};
}

CatalogSection data_sets() {
  return {"data",
          "data set",
          {{"fashion-mnist", "fashion-mnist | fashion-mnist:DIR",
            "60,000 + 10,000 grey images of clothes, 10 classes",
            "55 MB of memory; Debian package dataset-fashion-mnist"},
           {"mnist", "mnist:DIR", "60,000 + 10,000 handwritten digits, from your IDX files",
            "55 MB of memory"},
           {"idx", "idx:DIR", "any IDX image set", "1 byte a pixel"},
           {"synthetic", "synthetic:digits", "digits drawn by a generator, the same for a seed",
            "no download; drawn at the start"}},
          {}};
}

CatalogSection splits() {
  return {
      "split",
      "split",
      {{"iid", "iid", "shuffled, shards of equal size", "no skew"},
       {"dirichlet", "dirichlet:0.3", "class shares drawn per class; smaller is more skewed",
        "shards differ in size"},
       {"labels", "labels:2", "every peer holds this many classes",
        "strong skew; classes may stay unowned"}},
      {{"rotate", "+rotate:groups=2,by=5", "labels of group g are shifted by g times by",
        "groups that disagree"},
       {"noise", "+noise:10%", "this share of the training labels is wrong", "lower accuracy"}}};
}

CatalogSection training_parts(std::string_view option) {
  if (option == "model") {
    return {
        "model",
        "model",
        {{"mlp", "mlp:256,128", "perceptron with these hidden widths and ReLU",
          "4N bytes; about 6N flop an example and step"},
         {"cnn", "cnn:16,32,dense=128",
          "5x5 convolutions to these channels, each with ReLU and 2x2 max pooling, then a hidden "
          "layer",
          "as mlp, times the positions of each convolution"}},
        {}};
  }
  if (option == "optimizer") {
    return {"optimizer",
            "optimizer",
            {{"sgd", "sgd:lr=0.05,momentum=0.9,clip=1",
              "gradient steps with momentum and a bound on the norm",
              "4 B/value of state; 20 B/value a step (24 with clip)"},
             {"adamw", "adamw:lr=1e-3", "Adam with decoupled weight decay",
              "8 B/value of state; 28 B/value a step"}},
            {}};
  }
  return {"schedule",
          "schedule",
          {{"cosine", "cosine", "the learning rate falls to 0 over --epochs along a half cosine",
            "nothing"},
           {"constant", "constant", "the learning rate stays", "nothing"}},
          {}};
}

CatalogSection faults() {
  return {
      "chaos",
      "fault",
      {{"kill", "kill=1@30% | kill=p03@5s | kill=p03@30%..50%",
        "so many peers, or this one, die; with an end (simulated) it comes back",
        "the peer's shard is lost to the pool"},
       {"stall", "stall=p02@10%..20%", "the peer stands still for a while",
        "merges with it come late"},
       {"slow", "slow=p03*4", "the peer computes this many times slower",
        "its mini-batches take longer"},
       {"drop", "drop=1%", "this share of the messages is lost", "merges lost in that share"},
       {"partition", "partition=p03@20%..60%", "nothing reaches or leaves the peer for a while",
        "it trains alone"},
       {"reorder", "reorder=1%", "this share of the messages comes up to 0.1 s late (simulated)",
        "overtaken by later ones"},
       {"duplicate", "duplicate=1%", "this share of the messages comes twice (simulated)",
        "the second one is refused"},
       {"corrupt", "corrupt=1%", "this share of the messages arrives with a wrong byte",
        "refused whole, as if lost"},
       {"nan", "nan=2@0% | nan=p03@10%..50%", "sends weights that are not numbers",
        "refused; after three in a row the sender is ignored"},
       {"scale", "scale=p03*1e6@10%", "sends its weights times 1e6", "refused, as nan"},
       {"sign-flip", "sign-flip=p03*1@10%", "sends start - (w - start)",
        "drags others back unless a rule stops it"},
       {"noise", "noise=p03*1@10%", "sends its weights and as much noise", "as sign-flip"},
       {"replay-stale", "replay-stale=p03@10%", "sends its weights of that time for ever",
        "as sign-flip"},
       {"drift", "drift=p03*0.05@10%", "sends weights moved by 5 % of their norm, always one way",
        "drags slowly; stays inside +norm-clip"},
       {"label-flip", "label-flip=p03@10%", "learns class c as classes - 1 - c",
        "its model is wrong, its behaviour right"},
       {"poison", "poison=p03@30%", "one of its own weights becomes NaN, once",
        "it notices and begins again with a neighbour's weights"}},
      {}};
}

// As throw_unknown of the specs, with the option in front.
[[noreturn]] void throw_unknown(const std::string& prefix, std::string_view kind,
                                std::string_view word, const std::vector<std::string>& known) {
  try {
    runtime::throw_unknown(kind, word, known);
  } catch (const kernels::UsageError& error) {
    throw kernels::UsageError(prefix + error.what());
  }
}

void check_part(std::string_view option, const std::string& name,
                const std::vector<Spec>& modifiers) {
  const CatalogSection& section = catalog_section(option);
  const auto has = [](const std::vector<CatalogEntry>& entries, const std::string& word) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const CatalogEntry& entry) { return entry.name == word; });
  };
  if (!has(section.entries, name)) {
    throw_unknown("--" + std::string(option) + ": ", section.kind, name, catalog_names(option));
  }
  for (const Spec& modifier : modifiers) {
    if (section.modifiers.empty()) {
      throw kernels::UsageError("--" + std::string(option) + ": no '+' modifiers here, '+" +
                                modifier.text + "' is not understood");
    }
    if (!has(section.modifiers, modifier.name)) {
      std::vector<std::string> known;
      for (const CatalogEntry& entry : section.modifiers) {
        known.emplace_back(entry.name);
      }
      throw_unknown("--" + std::string(option) + ": ", std::string(section.kind) + " modifier",
                    modifier.name, known);
    }
  }
}

void append_entry(std::string& text, const CatalogEntry& entry) {
  text += "  " + std::string(entry.form) + "\n      " + std::string(entry.summary) +
          "\n      cost: " + std::string(entry.cost) + "\n";
}

nlohmann::ordered_json entries_json(const std::vector<CatalogEntry>& entries) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CatalogEntry& entry : entries) {
    list.push_back({{"name", entry.name},
                    {"form", entry.form},
                    {"summary", entry.summary},
                    {"cost", entry.cost}});
  }
  return list;
}

}  // namespace

const std::vector<CatalogSection>& catalog() {
  static const std::vector<CatalogSection> sections{protocols(),
                                                    topologies(),
                                                    merge_rules(),
                                                    codecs(),
                                                    outers(),
                                                    shares(),
                                                    clusterings(),
                                                    data_sets(),
                                                    splits(),
                                                    training_parts("model"),
                                                    training_parts("optimizer"),
                                                    training_parts("schedule"),
                                                    example_parts("trade"),
                                                    example_parts("tune"),
                                                    example_parts("sampling"),
                                                    example_parts("retire"),
                                                    example_parts("quarantine"),
                                                    networks(),
                                                    compute_models(),
                                                    faults()};
  return sections;
}

const CatalogSection& catalog_section(std::string_view option) {
  const auto found =
      std::find_if(catalog().begin(), catalog().end(),
                   [option](const CatalogSection& section) { return section.option == option; });
  HS_CHECK(found != catalog().end());
  return *found;
}

std::vector<std::string> catalog_names(std::string_view option) {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog_section(option).entries) {
    names.emplace_back(entry.name);
  }
  return names;
}

void check_names(const RunConfig& config) {
  check_part("data", config.data.substr(0, config.data.find(':')), {});
  const Spec split = parse_spec("--split", config.split);
  check_part("split", split.name, split.modifiers);
  const std::pair<std::string_view, const Spec*> parts[] = {
      {"model", &config.model},           {"optimizer", &config.optimizer},
      {"schedule", &config.schedule},     {"protocol", &config.protocol},
      {"topology", &config.topology},     {"merge", &config.merge},
      {"codec", &config.codec},           {"outer", &config.outer},
      {"share", &config.share},           {"cluster", &config.cluster},
      {"trade", &config.trade},           {"tune", &config.tune},
      {"sampling", &config.sampling},     {"retire", &config.retire},
      {"quarantine", &config.quarantine}, {"net", &config.net},
      {"compute", &config.compute}};
  for (const auto& [option, spec] : parts) {
    check_part(option, spec->name, spec->modifiers);
  }
  for (const std::string& fault : config.chaos) {
    check_part("chaos", parse_spec("--chaos", fault).name, {});
  }
}

std::string catalog_text() {
  std::string text =
      "N: parameters of the model, n: peers. Sizes are payload (a message adds 64 bytes);\n"
      "a value is a 4-byte float.\n";
  for (const CatalogSection& section : catalog()) {
    text += "\n--" + std::string(section.option) + "\n";
    for (const CatalogEntry& entry : section.entries) {
      append_entry(text, entry);
    }
    for (const CatalogEntry& entry : section.modifiers) {
      append_entry(text, entry);
    }
  }
  return text;
}

nlohmann::ordered_json catalog_json() {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const CatalogSection& section : catalog()) {
    nlohmann::ordered_json& slot = json[std::string(section.option)];
    slot["kind"] = section.kind;
    slot["entries"] = entries_json(section.entries);
    slot["modifiers"] = entries_json(section.modifiers);
  }
  return json;
}

}  // namespace hearsay::runtime
