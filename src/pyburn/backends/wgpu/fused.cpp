// fused: the body is cut into chains of element-wise operations, each of which is one kernel, with a reduction over rows at its end or
// without. What is no part of a chain (a product, a view of its result, an operation without an expression) runs by itself.
#include "pyburn/ops/fused.h"

#include <algorithm>

#include "pyburn/backends/wgpu/elementwise.h"
#include "pyburn/backends/wgpu/rows.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

// WGSL for a value of this dtype as it would come back from memory: chains round where single operations do.
std::string as_stored(const std::string& v, DType dtype) {
  if (dtype == DType::float16) return "f16_value(f16_bits(" + v + "))";
  if (dtype == DType::bfloat16) return "bitcast<f32>(bf16_bits(" + v + ") << 16u)";
  const Word w = word_of(dtype);
  const int bits = dtype_info(dtype).bits;
  return (w == Word::i32 || w == Word::u32) && bits < 32 ? format("extractBits({}, 0u, {}u)", v, bits) : v;
}

// Empty: not a reduction that ends a chain.
Fold fold_of(const OpInfo& op) {
  if (&op == &op::sum) return {Word::f32, "0.0", "v", "a + b"};
  if (&op == &op::mean) return {Word::f32, "0.0", "v", "a + b", "(r / p.divisor)"};
  if (&op == &op::amax) return {Word::f32, "-inf_f32()", "v", "select(b, a, a > b || is_nan(a))"};
  if (&op == &op::amin) return {Word::f32, "inf_f32()", "v", "select(b, a, a < b || is_nan(a))"};
  return {};
}

bool meet(const TensorHandle& a, const TensorHandle& b) {
  if (a.storage() != b.storage()) return false;
  const auto [a0, a1] = a.layout().extent();
  const auto [b0, b1] = b.layout().extent();
  const int64_t a_size = size_of(a.dtype()), b_size = size_of(b.dtype());
  return Checked(a0) * a_size < Checked(b1) * b_size && Checked(b0) * b_size < Checked(a1) * a_size;
}

class FusedRun {
 public:
  explicit FusedRun(const Call& c)
      : call_(c),
        body_(*c.attrs<Fused>().body),
        tensors_(body_.values.size()),
        last_use_(body_.values.size(), -1),
        made_by_(body_.values.size(), -1),
        output_of_(body_.values.size(), -1) {
    for (size_t k = 0; k < body_.inputs.size(); ++k) tensors_[size_t(body_.inputs[k])] = *c.in[k];
    for (const auto& [v, tensor] : body_.constants) tensors_[size_t(v)] = tensor;
    for (size_t k = 0; k < body_.outputs.size(); ++k) output_of_[size_t(body_.outputs[k])] = int(k);
    for (int i = 0; i < nodes(); ++i) {
      for (ValueId v : node(i).in)
        if (v >= 0) last_use_[size_t(v)] = i;
      for (ValueId v : node(i).out) made_by_[size_t(v)] = i;
    }
  }

  void run() {
    for (int i = 0; i < nodes();) {
      const int end = chain_end(i);
      end > i + 1 ? run_chain(i, end) : run_alone(node(i));
      i = std::max(end, i + 1);
    }
    for (size_t k = 0; k < body_.outputs.size(); ++k)
      if (const TensorHandle& made = tensors_[size_t(body_.outputs[k])]; !made.is_same(call_.out[k])) copy(call_.gpu, made, call_.out[k]);
  }

 private:
  int nodes() const { return int(body_.nodes.size()); }
  const GraphNode& node(int i) const { return body_.nodes[size_t(i)]; }
  const Meta& meta(ValueId v) const { return body_.values[size_t(v)]; }
  bool is_read_after(ValueId v, int end) const { return output_of_[size_t(v)] >= 0 || last_use_[size_t(v)] >= end; }

  Element element_of(const GraphNode& n) const {
    if (n.op.info().kind != Kind::elementwise || n.writes || n.out.size() != 1 || n.in.empty()) return {};
    SmallVector<DType, 4> in;
    for (ValueId v : n.in) {
      if (v < 0 || !(meta(v).shape == meta(n.out[0]).shape)) return {};
      in.push_back(meta(v).dtype);
    }
    return Elements::table().find(n.op.ref(), in, meta(n.out[0]).dtype);
  }

  // Over trailing dimensions of what the chain has made.
  bool ends_chain(const GraphNode& n, int begin, int i) const {
    if (fold_of(n.op.info()).start.empty() || n.writes) return false;
    const ValueId x = n.in[0];
    if (made_by_[size_t(x)] < begin || made_by_[size_t(x)] >= i || word_of(meta(x).dtype) != Word::f32) return false;
    const Reduce& a = n.op.ref().as<Reduce>();
    if (word_of(meta(n.out[0]).dtype) != Word::f32 || meta(x).shape.numel() == 0) return false;
    for (int64_t k = 0; k < a.dim.size(); ++k)
      if (a.dim[k] != meta(x).shape.rank() - a.dim.size() + k) return false;
    return true;
  }

  // Node `begin` and those after it that one kernel can compute.
  int chain_end(int begin) const {
    int end = begin;
    for (; end < nodes(); ++end) {
      const GraphNode& n = node(end);
      if (end > begin && ends_chain(n, begin, end)) return bindings(begin, end + 1) <= most_bindings() ? end + 1 : end;
      if (element_of(n).code.empty() || !(meta(n.out[0]).shape == meta(node(begin).out[0]).shape)) break;
      if (bindings(begin, end + 1) > most_bindings()) break;
    }
    return end;
  }

  int64_t most_bindings() const { return call_.gpu.limits().maxStorageBuffersPerShaderStage; }
  int64_t bindings(int begin, int end) const {
    SmallVector<ValueId, 16> outside;
    int64_t kept = 0;
    for (int i = begin; i < end; ++i) {
      for (ValueId v : node(i).in)
        if (made_by_[size_t(v)] < begin && std::find(outside.begin(), outside.end(), v) == outside.end()) outside.push_back(v);
      kept += is_read_after(node(i).out[0], end);
    }
    return outside.size() + kept;
  }

  // Where value v goes that is made before node `end`: the output itself, unless that would destroy something that is read later, or in
  // another order.
  TensorHandle place_for(ValueId v, int end, std::span<const ValueId> read_now, bool in_step) {
    const int k = output_of_[size_t(v)];
    if (k < 0) return scratch(call_, meta(v).dtype, meta(v).shape);
    const TensorHandle& out = call_.out[size_t(k)];
    for (size_t u = 0; u < tensors_.size(); ++u) {
      if (!tensors_[u].defined() || !meet(tensors_[u], out)) continue;
      const bool read_here = std::find(read_now.begin(), read_now.end(), ValueId(u)) != read_now.end();
      const bool same_place = in_step && tensors_[u].layout() == out.layout() && tensors_[u].dtype() == out.dtype();
      if (last_use_[u] >= end || output_of_[u] >= 0 || (read_here && !same_place)) return scratch(call_, meta(v).dtype, meta(v).shape);
    }
    return out;
  }

  void run_alone(const GraphNode& n) {
    const int end = int(&n - body_.nodes.data()) + 1;
    static const TensorHandle absent;
    InputList in;
    for (ValueId v : n.in) in.add(v < 0 ? absent : tensors_[size_t(v)]);
    if (n.op.info().kind == Kind::view) {
      const TensorHandle& x = tensors_[size_t(n.in[0])];
      const Layout seen = n.op.info().view(n.op.ref(), x.layout());
      tensors_[size_t(n.out[0])] = relayout(x, seen.shape, seen.strides, seen.offset);
      return;
    }
    Tensors out;
    for (ValueId v : n.out) out.push_back(place_for(v, end, {n.in.data(), size_t(n.in.size())}, n.op.info().kind == Kind::elementwise));
    pyburn::run(*call_.out[0].storage()->owner, n.op.ref(), in, {out.data(), size_t(out.size())});
    for (int64_t k = 0; k < out.size(); ++k) tensors_[size_t(n.out[k])] = out[k];
  }

  void run_chain(int begin, int end);

  const Call& call_;
  const Graph& body_;
  std::vector<TensorHandle> tensors_;  // of the values that are in memory
  std::vector<int> last_use_, made_by_, output_of_;
};

// The function chain(i) computes element i of every value, stores those that are read later, and gives the last one.
void FusedRun::run_chain(int begin, int end) {
  const GraphNode& last = node(end - 1);
  const bool reduces = last.op.info().kind != Kind::elementwise;
  std::vector<ValueId> read;
  for (int i = begin; i < end; ++i)
    for (ValueId v : node(i).in)
      if (made_by_[size_t(v)] < begin && std::find(read.begin(), read.end(), v) == read.end()) read.push_back(v);

  struct Stored {
    ValueId value;
    TensorHandle tensor;
  };
  std::vector<Stored> stored;
  for (int i = begin; i < end; ++i)
    if (const ValueId v = node(i).out[0]; is_read_after(v, end)) stored.push_back({v, place_for(v, end, read, !(reduces && i == end - 1))});

  // Rows are walked through as they are; other chains in the order of memory.
  const Shape& shape = meta(node(begin).out[0]).shape;
  const Order ordered(reduces || stored.empty() ? contiguous_layout(shape) : stored[0].tensor.layout());
  Shader s(call_.gpu);
  std::vector<std::string> names(tensors_.size());  // of the values, in order of appearance: the text depends on structure alone
  std::string chain;
  for (size_t j = 0; j < read.size(); ++j) {
    const ValueId v = read[j];
    const std::string k = std::to_string(j);
    s.input(("x" + k).c_str(), ordered(tensors_[size_t(v)]));
    chain += "  let a" + k + " = x" + k + "_get(i);\n";
    names[size_t(v)] = "a" + k;
  }
  const int elements = reduces ? end - 1 : end;
  for (int i = begin; i < elements; ++i) {
    const GraphNode& n = node(i);
    const std::string k = std::to_string(i - begin);
    const Element e = element_of(n);
    s.declare(Elements::function(e, "node" + k));
    std::string call = "node" + k + "(";
    for (int64_t j = 0; j < e.arguments.size(); ++j) {
      const Element::Argument& a = e.arguments[j];
      const std::string number = format("n{}_{}", k, j);
      if (a.input < 0) s.number(number, a.type, a.number);
      call += (j ? ", " : "") + (a.input < 0 ? Shader::value_of(number, a.type) : names[size_t(n.in[a.input])]);
    }
    const ValueId v = n.out[0];
    chain += "  let v" + k + " = " + as_stored(call + ")", meta(v).dtype) + ";\n";
    names[size_t(v)] = "v" + k;
  }
  for (size_t k = 0; k < stored.size(); ++k) {
    const auto& [v, tensor] = stored[k];
    if (reduces && v == last.out[0]) continue;
    const std::string name = format("y{}", int64_t(k));
    s.output(name.c_str(), ordered(tensor));
    chain += "  " + name + "_set(i, " + names[size_t(v)] + ");\n";
  }
  for (auto& [v, tensor] : stored) tensors_[size_t(v)] = tensor;
  if (!reduces) {
    s.declare("fn chain(i: u32) {\n" + chain + "}\n");
    return s.run_each(shape.numel(), "chain(i);");
  }

  const Reduce& a = last.op.ref().as<Reduce>();
  Fold f = fold_of(last.op.info());
  const int64_t length = count(shape, a.dim), rows = shape.numel() / length;
  f.divisor = float(length);
  s.declare("fn chain(i: u32) -> f32 {\n" + chain + "  return " + names[size_t(last.in[0])] + ";\n}\n");
  fold_rows(call_, s, "chain", tensors_[size_t(last.out[0])], rows, length, f);
}

void fused(const Call& c) { FusedRun(c).run(); }

}  // namespace

void register_fused(KernelTable& kernels) { kernels.add(op::fused, fused); }

}  // namespace pyburn::wgpu
