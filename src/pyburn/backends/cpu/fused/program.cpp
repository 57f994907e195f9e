#include "pyburn/backends/cpu/fused/program.h"

#include <algorithm>

#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/runtime/door_ops.h"

namespace pyburn::cpu {
namespace {

using Action = Instruction::Action;

class Compiler {
 public:
  Compiler(const Section& section, const KernelTable& kernels, std::span<const bool> constant)
      : section_(section),
        kernels_(kernels),
        constant_(constant),
        forms_(section.body.values.size()),
        input_of_(section.body.values.size(), -1) {
    for (int64_t i = 0; i < section.inputs.size(); ++i) input_of_[size_t(section.inputs[i])] = int(i);
    program_.last_read.assign(size_t(section.inputs.size()), -1);
  }

  std::optional<Program> compile() {
    for (const GraphNode& node : section_.nodes())
      if (!add(node)) return {};
    for (ValueId v : section_.outputs)
      if (!is_known(v) && v != reduced_) return {};
    for (ValueId v : section_.outputs)
      if (v != reduced_) program_.results.push_back(form(v, dtype_of(v)));
    find_last_uses();
    share_buffers();
    return std::move(program_);
  }

 private:
  DType dtype_of(ValueId v) const { return section_.body.values[size_t(v)].dtype; }

  bool is_known(ValueId v) const { return input_of_[size_t(v)] >= 0 || !forms_[size_t(v)].empty(); }

  int emit(Instruction i) {
    i.out = int(program_.registers.size());
    program_.registers.push_back({.dtype = i.to, .made_by = int(program_.code.size()), .last_use = int(program_.code.size())});
    program_.code.push_back(i);
    return i.out;
  }

  // The register that holds value v as `dtype`, created on first use.
  int form(ValueId v, DType dtype) {
    for (const auto& [have, r] : forms_[size_t(v)])
      if (have == dtype) return r;
    Instruction i{.action = Action::load, .from = dtype_of(v), .to = dtype, .input = input_of_[size_t(v)]};
    if (i.input < 0) {
      i.action = Action::to_compute;
      i.in[0] = form(v, dtype_of(v));
    }
    const int r = emit(i);
    forms_[size_t(v)].push_back({dtype, r});
    return r;
  }

  // The result of a node is in register r: keep it in the dtype of its value.
  void keep(ValueId v, int r) {
    const DType dtype = dtype_of(v), computed = program_.registers[size_t(r)].dtype;
    if (computed != dtype) r = emit({.action = Action::to_storage, .from = computed, .to = dtype, .in = {r, -1, -1}});
    forms_[size_t(v)].push_back({dtype, r});
  }

  bool add(const GraphNode& node) {
    if (reduced_ >= 0 || node.writes || node.out.size() != 1 || node.in.empty()) return false;
    const Shape& shape = section_.shape(section_.inputs[0]);
    for (ValueId v : node.in)
      if (v < 0 || !is_known(v) || !(section_.shape(v) == shape)) return false;
    if (node.op.info().kind == Kind::reduce) return add_reduction(node, shape);
    return node.op.info().kind == Kind::elementwise && node.in.size() <= 3 && add_elementwise(node);
  }

  bool add_elementwise(const GraphNode& node) {
    const OpInfo& info = node.op.info();
    if (&info == &op::cast) {
      const DType from = dtype_of(node.in[0]), to = dtype_of(node.out[0]);
      keep(node.out[0], form(node.in[0], from == to ? to : conversion_dtype(from, to)));
      return true;
    }
    const bool has_key = info.key < node.in.size();  // where(condition, 1, 0) has tensors without one
    const DType key = dtype_of(has_key ? node.in[info.key] : node.out[0]), compute = compute_dtype(key);
    const Tile tile = kernels_.tile(info, key);
    if (!tile.fn || (tile.condition && dtype_of(node.in[0]) != DType::boolean)) return false;
    Instruction i{
        .action = Action::compute, .from = compute, .to = tile.boolean ? DType::boolean : compute, .fn = tile.fn, .attrs = node.op.attrs()};
    for (int64_t k = 0; k < node.in.size(); ++k) i.in[k] = form(node.in[k], tile.condition && k == 0 ? DType::boolean : compute);
    keep(node.out[0], emit(i));
    return true;
  }

  bool add_reduction(const GraphNode& node, const Shape& shape) {
    const OpInfo& info = node.op.info();
    if (&info != &op::sum && &info != &op::mean && &info != &op::amax && &info != &op::amin) return false;
    const Reduce& a = node.op.ref().as<Reduce>();
    for (int64_t i = 0; i < a.dim.size(); ++i)
      if (a.dim[i] != shape.rank() - a.dim.size() + i) return false;
    const DType dtype = dtype_of(node.in[0]);
    if (dtype_of(node.out[0]) != dtype) return false;
    program_.reduction = &node;
    program_.folded = form(node.in[0], compute_dtype(dtype));
    reduced_ = node.out[0];
    return true;
  }

  void find_last_uses() {
    const int end = int(program_.code.size());
    auto& registers = program_.registers;
    for (int i = 0; i < end; ++i)
      for (int r : program_.code[size_t(i)].in)
        if (r >= 0) registers[size_t(r)].last_use = i;
    for (int r : program_.results) registers[size_t(r)].last_use = end;
    if (program_.folded >= 0) registers[size_t(program_.folded)].last_use = end;
    for (const Instruction& i : program_.code)  // a load may hand out the memory itself: it is read as long as the register
      if (i.action == Action::load) {
        int& last = program_.last_read[size_t(i.input)];
        last = std::max(last, registers[size_t(i.out)].last_use);
      }
  }

  bool is_constant(const Register& r) const {
    const Instruction& i = program_.code[size_t(r.made_by)];
    return i.action == Action::load && constant_[size_t(i.input)];
  }

  // An instruction never writes where it reads: the tile functions may then be compiled as if nothing overlapped.
  void share_buffers() {
    std::vector<SmallVector<int, 2>> dying(program_.code.size() + 1);  // buffers that are free after an instruction
    std::vector<int> free;
    for (Register& r : program_.registers)
      if (is_constant(r)) r.buffer = program_.buffers++;
    for (Register& r : program_.registers) {  // in order of the instructions: each makes one
      if (r.buffer < 0) {
        if (free.empty()) free.push_back(program_.buffers++);
        r.buffer = free.back();
        free.pop_back();
        dying[size_t(r.last_use)].push_back(r.buffer);
      }
      for (int buffer : dying[size_t(r.made_by)]) free.push_back(buffer);
    }
  }

  const Section& section_;
  const KernelTable& kernels_;
  std::span<const bool> constant_;
  std::vector<SmallVector<std::pair<DType, int>, 2>> forms_;  // per value: where it is, by dtype
  std::vector<int> input_of_;                                 // per value: which input it is, or -1
  ValueId reduced_ = -1;
  Program program_;
};

}  // namespace

std::optional<Program> compile(const Section& section, const KernelTable& kernels, std::span<const bool> constant) {
  if (section.nodes().empty() || section.inputs.empty()) return {};
  return Compiler(section, kernels, constant).compile();
}

}  // namespace pyburn::cpu
