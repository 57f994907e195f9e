// GELU, its approximation and SiLU that are written out in elementary functions. How they are written does not matter: a composition of
// analytic functions that agrees with one of them everywhere that matters is that function.
#include <algorithm>
#include <cmath>

#include "pyburn/graph/cone.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ops/activation.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/transcendental.h"
#include "pyburn/ops/unary.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {
namespace {

bool is_analytic(const GraphNode& n) {
  static const OpInfo* const known[] = {
      &op::add, &op::sub, &op::mul, &op::div, &op::pow, &op::neg, &op::exp, &op::tanh, &op::erf, &op::erfc, &op::sigmoid};
  return std::find(std::begin(known), std::end(known), &n.op.info()) != std::end(known);
}
// What such functions are made of; a sum or a product alone is none.
bool bends(const GraphNode& n) {
  const OpInfo* op = &n.op.info();
  return op == &op::exp || op == &op::tanh || op == &op::erf || op == &op::erfc || op == &op::sigmoid;
}

TensorHandle sample() {
  std::vector<float> x;
  for (int i = -400; i <= 400; ++i) x.push_back(float(i) * 0.017f);
  for (float far : {1e-30f, 1e-6f, 7.5f, 9.0f, 12.0f, 20.0f, 50.0f, 80.0f}) x.insert(x.end(), {far, -far});
  return from_host(host_device(), {x.data(), {Shape{int64_t(x.size())}, DType::float32}});
}

bool recognise(GraphEditor& editor, int32_t i, const TensorHandle& x) {
  const GraphNode& n = editor.node(i);
  const OpInfo* last = &n.op.info();
  if ((last != &op::mul && last != &op::div) || editor.meta(n.out[0]).dtype != DType::float32) return false;
  const ValueId result = n.out[0];
  bool done = false;
  for_each_cone(editor, result, is_analytic, [&](const Cone& cone) {
    if (!(editor.meta(cone.from) == editor.meta(result))) return false;
    const auto is_bent = [&](int32_t k) { return bends(editor.node(k)); };
    if (std::none_of(cone.nodes.begin(), cone.nodes.end(), is_bent)) return false;
    const TensorHandle y = evaluate(editor, cone, x);
    if (!y.defined()) return false;
    const auto becomes = [&](OpRef op) {
      InputList in;
      in.add(x);
      TensorHandle expected;
      dispatch(op, in, {&expected, 1});
      if (!agree(y, expected, 2e-6)) return false;
      const ValueId v = editor.insert_before(i, Operation(op), {cone.from}, editor.meta(result));
      editor.replace(result, v);
      editor.erase(i);
      return done = true;
    };
    const Gelu exact{false}, approximate{true};
    const NoAttrs none;
    return becomes({&op::gelu, &exact}) || becomes({&op::gelu, &approximate}) || becomes({&op::silu, &none});
  });
  return done;
}

}  // namespace

Ref<Graph> recognise_activations(const Graph& g) {
  if (std::none_of(g.nodes.begin(), g.nodes.end(), bends)) return copy_of(g);
  GraphEditor editor(g);
  const TensorHandle x = sample();
  for (int32_t i = 0; i < editor.nodes(); ++i)
    if (!editor.is_erased(i)) recognise(editor, i, x);
  return editor.finish();
}

}  // namespace pyburn
