// The wire form of a whole graph.
#include "pyburn/ir/wire.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

void encode_ids(WireWriter& w, const auto& ids) {
  w.count(uint64_t(ids.size()));
  for (ValueId v : ids) w.integer(v);
}
ValueId decode_id(WireReader& r) {
  const int64_t v = r.integer();
  require<FormatError>(v >= -1 && v <= INT32_MAX, "[wire] value number out of range: got {}", v);
  return ValueId(v);
}
template <class Ids>
Ids decode_ids(WireReader& r) {
  Ids ids;
  for (int64_t n = r.length(); n > 0; --n) ids.push_back(decode_id(r));
  return ids;
}

void encode_names(WireWriter& w, const std::vector<std::string>& names) {
  w.count(names.size());
  for (const std::string& n : names) w.text(n);
}
std::vector<std::string> decode_names(WireReader& r) {
  std::vector<std::string> names;
  for (int64_t n = r.length(); n > 0; --n) names.push_back(r.text());
  return names;
}

template <class Pairs>
void encode_pairs(WireWriter& w, const Pairs& pairs) {
  w.count(pairs.size());
  for (const auto& [a, b] : pairs) w.integer(a), w.integer(b);
}
std::vector<std::pair<int32_t, int32_t>> decode_pairs(WireReader& r) {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int64_t n = r.length(2); n > 0; --n) {
    const int32_t a = decode_id(r), b = decode_id(r);
    pairs.emplace_back(a, b);
  }
  return pairs;
}

void encode_constant(WireWriter& w, ValueId id, const TensorHandle& t) {
  require<ValueError>(w.read_constant || w.place_constant, "[wire] constants cannot be sent here");
  w.integer(id);
  encode(w, t.meta());
  if (w.place_constant) return w.count(w.place_constant(t));
  w.read_constant(t, w.extend(size_t(bytes_of(t.dtype(), t.numel()))));
}
std::pair<ValueId, TensorHandle> decode_constant(WireReader& r) {
  require<FormatError>(r.make_constant || r.find_constant, "[wire] constants are not accepted here");
  const ValueId id = decode_id(r);
  const Meta meta = decode_meta(r);
  if (r.find_constant) return {id, r.find_constant(meta, r.count())};
  const BytesView data = r.raw(size_t(bytes_of(meta.dtype, meta.shape.numel())));  // present before anything is allocated
  return {id, r.make_constant(meta, data)};
}

ExtentPatch decode_patch(WireReader& r) {
  const int32_t slot = decode_id(r);
  std::vector<ExtentExpression::Term> terms;
  for (int64_t n = r.length(3); n > 0; --n) {
    const auto kind = ExtentExpression::Kind(r.byte());
    const int64_t a = r.integer(), b = r.integer();
    terms.push_back({kind, a, b});
  }
  return {slot, ExtentExpression(std::move(terms))};
}

}  // namespace

void encode(WireWriter& w, const Graph& g) {
  w.count(g.values.size());
  for (const Meta& m : g.values) encode(w, m);
  encode_ids(w, g.inputs);
  encode_ids(w, g.outputs);
  encode_names(w, g.input_names);
  encode_names(w, g.output_names);
  w.count(g.constants.size());
  for (const auto& [id, t] : g.constants) encode_constant(w, id, t);
  encode_names(w, g.constant_names);
  w.count(g.nodes.size());
  for (const GraphNode& n : g.nodes) {
    encode(w, n.op.ref());
    encode_ids(w, n.in);
    encode_ids(w, n.out);
    w.byte(n.writes);
    w.count(n.patches.size());
    for (const ExtentPatch& p : n.patches) {
      w.integer(p.slot);
      w.count(p.value.terms().size());
      for (const ExtentExpression::Term& t : p.value.terms()) w.byte(uint8_t(t.kind)), w.integer(t.a), w.integer(t.b);
    }
  }
  encode_pairs(w, g.updates);
  encode_names(w, g.extents);
  w.count(g.free_axes.size());
  for (const FreeAxis& f : g.free_axes) w.integer(f.input), w.integer(f.axis), w.integer(f.extent);
  w.count(g.unknown_axes.size());
  for (const UnknownAxis& u : g.unknown_axes) w.integer(u.value), w.integer(u.axis), w.integer(u.extent);
}

Ref<Graph> decode_graph(WireReader& r) {
  require<FormatError>(++r.depth <= r.deepest, "[wire] graphs are nested too deeply");
  auto g = make_ref<Graph>();
  for (int64_t n = r.length(2); n > 0; --n) g->values.push_back(decode_meta(r));
  g->inputs = decode_ids<std::vector<ValueId>>(r);
  g->outputs = decode_ids<std::vector<ValueId>>(r);
  g->input_names = decode_names(r);
  g->output_names = decode_names(r);
  for (int64_t n = r.length(3); n > 0; --n) g->constants.push_back(decode_constant(r));
  g->constant_names = decode_names(r);
  for (int64_t n = r.length(4); n > 0; --n) {
    GraphNode node{decode_operation(r), decode_ids<decltype(GraphNode::in)>(r), decode_ids<decltype(GraphNode::out)>(r), false, {}};
    node.writes = r.boolean();
    for (int64_t patches = r.length(2); patches > 0; --patches) node.patches.push_back(decode_patch(r));
    g->nodes.push_back(std::move(node));
  }
  g->updates = decode_pairs(r);
  g->extents = decode_names(r);
  for (int64_t n = r.length(3); n > 0; --n) {
    const int32_t input = decode_id(r), axis = decode_id(r), extent = decode_id(r);
    g->free_axes.push_back({input, axis, extent});
  }
  for (int64_t n = r.length(3); n > 0; --n) {
    const int32_t value = decode_id(r), axis = decode_id(r), extent = decode_id(r);
    g->unknown_axes.push_back({value, axis, extent});
  }
  --r.depth;
  check(*g);
  return g;
}

}  // namespace pyburn
