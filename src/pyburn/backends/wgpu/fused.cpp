// fused: runs of element-wise nodes become one generated kernel each; products, reductions and views between them run as they are.
#include "pyburn/ops/fused.h"

#include <set>

#include "pyburn/backends/wgpu/elementwise.h"
#include "pyburn/ops/copy.h"
#include "pyburn/runtime/run.h"

namespace pyburn::wgpu {
namespace {

// A value of a narrow dtype is rounded as if it had been stored.
std::string rounded(const std::string& v, DType dtype) {
  const int bits = dtype_info(dtype).bits;
  if (dtype == DType::float16) return "f16_value(f16_bits(" + v + "))";
  if (dtype == DType::bfloat16) return "bitcast<f32>(bf16_bits(" + v + ") << 16u)";
  return bits < 32 && dtype != DType::boolean ? "extractBits(" + v + ", 0u, " + std::to_string(bits) + "u)" : v;
}

class Replay {
 public:
  Replay(const Call& c, const Graph& body) : c_(c), body_(body), tensors_(body.values.size()), last_use_(body.values.size(), -1) {
    for (size_t i = 0; i < body.inputs.size(); ++i) tensors_[size_t(body.inputs[i])] = *c.in[i];
    for (const auto& [value, tensor] : body.constants) tensors_[size_t(value)] = tensor;
    for (int n = 0; n < int(body.nodes.size()); ++n)
      for (ValueId v : body.nodes[size_t(n)].in)
        if (v >= 0) last_use_[size_t(v)] = n;
    for (ValueId v : body.outputs) last_use_[size_t(v)] = int(body.nodes.size());
  }

  void run() {
    for (int n = 0; n < int(body_.nodes.size()); ++n) {
      const GraphNode& node = body_.nodes[size_t(n)];
      Element e = element_of(node);
      if (e.code.empty()) {
        finish(n);
        run_alone(node);
        continue;
      }
      const Shape& shape = shape_of(node.out[0]);
      if (!pending_.empty() && !(shape == shape_of(body_.nodes[size_t(pending_[0])].out[0]))) finish(n);
      pending_.push_back(n);
      elements_.push_back(std::move(e));
    }
    finish(int(body_.nodes.size()));
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      const TensorHandle& made = tensors_[size_t(body_.outputs[i])];
      if (made.storage() != c_.out[i].storage() || !(made.layout() == c_.out[i].layout())) copy(c_.gpu, made, c_.out[i]);
    }
  }

 private:
  const Shape& shape_of(ValueId v) const { return body_.values[size_t(v)].shape; }
  DType dtype_of(ValueId v) const { return body_.values[size_t(v)].dtype; }

  Element element_of(const GraphNode& node) const {
    if (node.op.info().kind != Kind::elementwise || node.writes || node.out.size() != 1) return {};
    SmallVector<DType, 4> in;
    for (ValueId v : node.in) {
      if (v < 0 || !(shape_of(v) == shape_of(node.out[0]))) return {};
      in.push_back(dtype_of(v));
    }
    if (in.empty()) return {};
    return Elements::table().find(node.op.ref(), in, dtype_of(node.out[0]));
  }

  // Where a value is made: the output of the call if it is one that no other value has taken.
  TensorHandle target(ValueId v) const {
    for (size_t i = 0; i < body_.outputs.size(); ++i)
      if (body_.outputs[i] == v) return c_.out[i];
    return scratch(c_, dtype_of(v), shape_of(v));
  }

  void run_alone(const GraphNode& node) {
    static const TensorHandle absent;
    SmallVector<const TensorHandle*, 8> in;
    for (ValueId v : node.in) in.push_back(v < 0 ? &absent : &tensors_[size_t(v)]);
    const OpRef op = node.op.ref();
    if (op.info->kind == Kind::view) {
      tensors_[size_t(node.out[0])] = alias(*in[0], op.info->view(op, in[0]->layout()));
      return;
    }
    Tensors out;
    for (ValueId v : node.out) out.push_back(v < 0 ? TensorHandle() : target(v));
    pyburn::run(*c_.out[0].storage()->owner, op, {in.data(), size_t(in.size())}, {out.data(), size_t(out.size())});
    for (int64_t k = 0; k < node.out.size(); ++k)
      if (node.out[k] >= 0) tensors_[size_t(node.out[k])] = out[k];
  }

  // Runs the pending nodes as one kernel. Values that node `next` or later ones read are stored.
  void finish(int next) {
    if (pending_.empty()) return;
    std::set<ValueId> inside, inputs;
    SmallVector<ValueId, 8> stored;
    for (int n : pending_) {
      const GraphNode& node = body_.nodes[size_t(n)];
      for (ValueId v : node.in)
        if (!inside.contains(v)) inputs.insert(v);
      inside.insert(node.out[0]);
      if (last_use_[size_t(node.out[0])] >= next) stored.push_back(node.out[0]);
    }
    if (inputs.size() + size_t(stored.size()) > c_.gpu.limits().maxStorageBuffersPerShaderStage) {
      for (int n : pending_) run_alone(body_.nodes[size_t(n)]);
    } else if (!stored.empty()) {
      launch(inputs, stored);
    }
    pending_.clear();
    elements_.clear();
  }

  void launch(const std::set<ValueId>& inputs, std::span<const ValueId> stored) {
    Shader s(c_.gpu);
    std::string code;
    for (ValueId v : stored) tensors_[size_t(v)] = target(v);
    const Order order(tensors_[size_t(stored[0])].layout());
    for (ValueId v : inputs) {
      const std::string name = format("x{}", v);
      s.input(name.c_str(), order(tensors_[size_t(v)]));
      code += format("let v{} = {}_get(i);\n", v, name);
    }
    for (int64_t k = 0; k < int64_t(pending_.size()); ++k) {
      const GraphNode& node = body_.nodes[size_t(pending_[size_t(k)])];
      const Element& e = elements_[size_t(k)];
      s.declare(Elements::function(e, format("element{}", k)));
      std::string call = format("element{}(", k);
      for (int64_t a = 0; a < e.arguments.size(); ++a) {
        const Element::Argument& argument = e.arguments[a];
        const std::string name = format("n{}_{}", k, a);
        if (argument.input < 0) s.number(name, argument.type, argument.number);
        call += (a ? ", " : "") + (argument.input < 0 ? Shader::value_of(name, argument.type) : format("v{}", node.in[argument.input]));
      }
      code += format("let v{} = {};\n", node.out[0], rounded(call + ")", dtype_of(node.out[0])));
    }
    for (ValueId v : stored) {
      const std::string name = format("y{}", v);
      s.output(name.c_str(), order(tensors_[size_t(v)]));
      code += format("{}_set(i, v{});\n", name, v);
    }
    s.run_each(shape_of(stored[0]).numel(), code);
  }

  const Call& c_;
  const Graph& body_;
  std::vector<TensorHandle> tensors_;
  std::vector<int> last_use_;
  std::vector<int> pending_;
  std::vector<Element> elements_;
};

void fused(const Call& c) { Replay(c, *c.attrs<Fused>().body).run(); }

}  // namespace

void register_fused(KernelTable& kernels) { kernels.add(op::fused, fused); }

}  // namespace pyburn::wgpu
