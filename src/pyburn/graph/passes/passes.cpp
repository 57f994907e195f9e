#include "pyburn/graph/passes.h"

namespace pyburn {

std::span<const GraphPass> all_passes() {
  static constexpr GraphPass passes[] = {
      {"values_for_writes", values_for_writes},
      {"fold_constants", fold_constants},
      {"merge_equal_nodes", merge_equal_nodes},
      {"fold_scales", fold_scales},
      {"recognise_activations", recognise_activations},
      {"recognise_norms", recognise_norms},
      {"recognise_linear", recognise_linear},
      {"recognise_attention", recognise_attention},
      {"drop_dead_nodes", drop_dead_nodes},
  };
  return passes;
}

Ref<Graph> simplify(const Graph& g) { return drop_dead_nodes(*fold_constants(g)); }

Ref<Graph> optimise(const Graph& g) {
  Ref<Graph> result = copy_of(g);
  for (const GraphPass& pass : all_passes()) result = pass.run(*result);
  return result;
}

}  // namespace pyburn
