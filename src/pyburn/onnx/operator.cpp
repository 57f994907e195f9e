#include "pyburn/onnx/operator.h"

#include <algorithm>
#include <map>

namespace pyburn::onnx {
namespace {

constexpr std::span<const Operator> (*kFamilies[])() = {
    elementwise_operators,
    comparison_operators,
    activation_operators,
    reduce_operators,
    shape_operators,
    creation_operators,
    gather_operators,
    convolution_operators,
    pool_operators,
    normalisation_operators,
    matmul_operators,
    resize_operators,
    attention_operators,
    cast_operators,
    microsoft_operators,
    ml_operators,
    map_operators,
    support_vector_operators,
    hash_operators,
    quantised_operators,
    quantised_microsoft_operators,
    recurrent_operators,
    sequence_operators,
    signal_operators,
    string_operators,
    training_operators,
    vision_operators,
    control_flow_operators,
    loss_operators,
    spatial_operators,
    legacy_operators,
};

using Key = std::pair<std::string_view, std::string_view>;
using Versions = std::vector<const Operator*>;  // the newest last

const std::map<Key, Versions>& table() {
  static const std::map<Key, Versions> all = [] {
    std::map<Key, Versions> made;
    for (const Operator* row : all_operators()) made[{row->domain, row->name}].push_back(row);
    for (auto& [key, versions] : made)
      std::sort(versions.begin(), versions.end(), [](const Operator* a, const Operator* b) { return a->since < b->since; });
    return made;
  }();
  return all;
}

}  // namespace

std::vector<const Operator*> all_operators() {
  std::vector<const Operator*> all;
  for (const auto family : kFamilies)
    for (const Operator& row : family()) all.push_back(&row);
  return all;
}

const Operator* find_operator(std::string_view domain, std::string_view name, int64_t version) {
  const auto found = table().find({domain, name});
  if (found == table().end()) return nullptr;
  const Operator* best = nullptr;
  for (const Operator* row : found->second)
    if (row->since <= version) best = row;
  return best;
}

}  // namespace pyburn::onnx
