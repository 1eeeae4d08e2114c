// SPDX-License-Identifier: Apache-2.0
// Writes scalars as TensorBoard reads them: TFRecord framing (length, masked CRC-32C, bytes, masked
// CRC-32C) around Event messages in protobuf encoding, of which only the fields that scalars need.
// Field numbers are those of tensorflow/core/util/event.proto and framework/summary.proto.
// Lane: any. Cost: about 60 B a scalar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearsay::runtime {

// The first record of a file: which format follows.
std::string tf_version_record(double wall_s);
std::string tf_scalar_record(double wall_s, std::int64_t step, std::string_view tag, float value);

}  // namespace hearsay::runtime
