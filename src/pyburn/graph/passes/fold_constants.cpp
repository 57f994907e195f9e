#include <algorithm>

#include "pyburn/graph/graph_editor.h"
#include "pyburn/graph/passes.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

int64_t bytes_of(const Meta& m) { return pyburn::bytes_of(m.dtype, m.shape.numel()); }

}  // namespace

Ref<Graph> fold_constants(const Graph& g) {
  GraphEditor editor(g);
  std::vector<TensorHandle> known(g.values.size());
  for (const auto& [v, t] : g.constants)
    if (!editor.may_be_written(v)) known[size_t(v)] = t;
  const TensorHandle absent;
  for (int32_t i = 0; i < editor.nodes(); ++i) {
    const GraphNode& n = editor.node(i);
    const Kind kind = n.op.info().kind;
    if (!n.patches.empty() || n.writes || n.in.empty() || n.out.size() != 1 || kind == Kind::dynamic) continue;
    if (draws_random_numbers(n.op.ref())) continue;
    const ValueId result = n.out[0];
    const bool ready = std::all_of(n.in.begin(), n.in.end(), [&](ValueId v) { return v < 0 || known[size_t(v)].defined(); });
    if (!ready || editor.may_be_written(result)) continue;
    int64_t given = 0;
    InputList in;
    for (ValueId v : n.in) {
      if (v >= 0) given += bytes_of(editor.meta(v));
      in.add(v < 0 ? absent : known[size_t(v)]);
    }
    // A view costs nothing at run time and may be larger than its constant: it is computed, but stays a node. What grows stays as it is:
    // quantised weights would become floats.
    if (kind != Kind::view && bytes_of(editor.meta(result)) > given) continue;
    TensorHandle out;
    try {
      dispatch(n.op.ref(), in, {&out, 1});
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // raised when the graph runs, as if nothing had been folded
      continue;
    }
    known[size_t(result)] = out;
    if (kind == Kind::view) continue;
    const ValueId constant = editor.add_constant(out);
    known.push_back(out);
    editor.erase(i);
    editor.replace(result, constant);
  }
  return editor.finish();
}

}  // namespace pyburn
