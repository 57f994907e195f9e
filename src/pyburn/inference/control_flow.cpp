#include "pyburn/inference/control_flow.h"

#include <algorithm>

#include "pyburn/decorators/trace/trace.h"
#include "pyburn/graph/aliases.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ops/control_flow.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Zero is false, for every dtype.
TensorHandle as_condition(const TensorHandle& t) {
  require(t.numel() == 1, "expected a condition of one element: got {}", t.shape());
  return t.dtype() == DType::boolean ? t : TensorHandle(fn::ne(t, 0));
}

bool same_place(const TensorHandle& a, const TensorHandle& b) {
  return a.storage() == b.storage() && a.dtype() == b.dtype() && a.layout() == b.layout();
}

// Graphs of one operation, and the tensors from outside that any of them reads: further inputs of all of them.
class Bodies {
 public:
  Ref<Graph> add(const Tensors& inputs, const CapturedFunction& function, const std::vector<std::vector<bool>>& free = {}) {
    std::vector<CaptureInput> wanted;
    for (int64_t k = 0; k < inputs.size(); ++k) {
      CaptureInput& input = wanted.emplace_back(CaptureInput{inputs[k].meta(), "", {}, inputs[k].shape()});
      for (int axis = 0; size_t(k) < free.size() && axis < inputs[k].rank(); ++axis) {
        const bool open = free[size_t(k)][size_t(axis)];
        input.extents.push_back(open ? "c" + std::to_string(k) + "_" + std::to_string(axis) : "");
        if (open) input.meta.shape[axis] = -1;
      }
    }
    Ref<Graph> g = capture(inputs[0].device(), wanted, function, {.simplify = false, .is_inside = true});
    g = drop_dead_nodes(*values_for_writes(*g));
    const std::vector<bool> written = values_that_may_be_written(*g);
    for (ValueId v : g->inputs) require_unwritten(written, v);
    for (const auto& [v, t] : g->constants) {
      require_unwritten(written, v);
      note(t);
    }
    return g;
  }

  // Each of `graphs` with all of outside() as inputs.
  Ref<Graph> closed(Ref<Graph> g) const {
    std::vector<std::pair<ValueId, TensorHandle>> constants = std::move(g->constants);
    g->constants.clear();
    g->constant_names.clear();
    for (const TensorHandle& t : outside_) {
      const auto known = std::find_if(constants.begin(), constants.end(), [&](const auto& c) { return same_place(c.second, t); });
      g->inputs.push_back(known != constants.end() ? known->first : g->add_value(t.meta()));
      g->input_names.emplace_back();
    }
    check(*g);
    return g;
  }
  const Tensors& outside() const { return outside_; }

 private:
  static void require_unwritten(const std::vector<bool>& written, ValueId v) {
    require<CaptureError>(!written[size_t(v)],
        "the function writes to a tensor that it was given or that belongs to the program around it; "
        "return the new value instead");
  }
  void note(const TensorHandle& t) {
    if (std::none_of(outside_.begin(), outside_.end(), [&](const TensorHandle& o) { return same_place(o, t); })) outside_.push_back(t);
  }
  Tensors outside_;
};

template <class A>
Tensors record(const OpInfo& info, const A& attrs, std::initializer_list<const Tensors*> inputs, size_t results) {
  InputList in;
  for (const Tensors* list : inputs) in.add(*list);
  return call_many(info, attrs, in, int(results));
}

Tensors joined(const Tensors& a, const Tensors& b) {
  Tensors all = a;
  for (const TensorHandle& t : b) all.push_back(t);
  return all;
}

Tensors recorded_cond(const TensorHandle& flag, const CapturedFunction& yes, const CapturedFunction& no, const Tensors& operands) {
  // The flag is what tells the device where there are no operands.
  const bool alone = operands.empty();
  const Tensors given = alone ? Tensors{flag} : operands;
  const auto of = [&](const CapturedFunction& f) { return [&f, alone](const Tensors& in) { return f(alone ? Tensors{} : in); }; };
  Bodies bodies;
  Ref<Graph> then_graph = bodies.add(given, of(yes)), else_graph = bodies.add(given, of(no));
  const Cond attrs{bodies.closed(std::move(then_graph)), bodies.closed(std::move(else_graph))};
  const Tensors flags{flag};
  return record(op::cond, attrs, {&flags, &given, &bodies.outside()}, attrs.then_branch->outputs.size());
}

// Captures the body until the axes that it changes are free.
Tensors recorded_while(const CapturedFunction& condition, const CapturedFunction& body, const Tensors& carried, int64_t most) {
  std::vector<std::vector<bool>> free;
  for (const TensorHandle& t : carried) free.emplace_back(size_t(t.rank()), false);
  const auto flag = [&](const Tensors& in) {
    const Tensors more = condition(in);
    require<ValueError>(more.size() == 1, "the condition must give one result: got {}", more.size());
    return Tensors{as_condition(more[0])};
  };
  Bodies bodies;
  Ref<Graph> step;
  for (bool changed = true; changed;) {
    changed = false;
    bodies = {};
    step = bodies.add(carried, body, free);
    require<ValueError>(int64_t(step->outputs.size()) == carried.size(),
        "wrong number of results of the body: got {} for {} carried values", int64_t(step->outputs.size()), carried.size());
    for (size_t k = 0; k < step->outputs.size(); ++k) {
      const Shape &before = step->values[size_t(step->inputs[k])].shape, &after = step->values[size_t(step->outputs[k])].shape;
      require(before.rank() == after.rank(), "the body changes the rank of carried value {}: got {}, expected {}", k, after, before);
      for (int axis = 0; axis < before.rank(); ++axis)
        if (before[axis] != after[axis] && !free[k][size_t(axis)]) free[k][size_t(axis)] = changed = true;
    }
  }
  Ref<Graph> more = bodies.add(carried, flag, free);
  const WhileLoop attrs{bodies.closed(std::move(more)), bodies.closed(std::move(step)), carried.size(), most};
  return record(op::while_loop, attrs, {&carried, &bodies.outside()}, size_t(carried.size()));
}

// What one step is given, for its shapes.
Tensors first_entries(const Tensors& sequences, int64_t dim) {
  Tensors entries;
  for (const TensorHandle& s : sequences) {
    Shape shape;
    for (int axis = 0; axis < s.rank(); ++axis)
      if (axis != dim) shape.push_back(s.shape()[axis]);
    entries.push_back(make_tensor(s.device(), s.dtype(), contiguous_layout(shape)));
  }
  return entries;
}

Tensors recorded_scan(const CapturedFunction& body, const Tensors& carried, const Tensors& sequences, int64_t dim, bool reverse) {
  Bodies bodies;
  Ref<Graph> step = bodies.add(joined(carried, first_entries(sequences, dim)), body);
  const Scanned attrs{bodies.closed(std::move(step)), carried.size(), sequences.size(), dim, reverse};
  return record(op::scan, attrs, {&carried, &sequences, &bodies.outside()}, attrs.body->outputs.size());
}

}  // namespace

Tensors cond(const TensorHandle& pred, const CapturedFunction& yes, const CapturedFunction& no, const Tensors& operands) {
  return naming("cond", [&] {
    const TensorHandle flag = as_condition(pred);
    if (is_capturing()) return recorded_cond(flag, yes, no, operands);
    return read_condition(flag) ? yes(operands) : no(operands);
  });
}

int64_t as_size(const TensorHandle& size) {
  return naming("as_size", [&] {
    if (is_capturing() && !static_cast<Trace*>(current_level())->knows_values_of(size)) {
      InputList in;
      in.add(size);
      return int64_t(call(op::extent_of, NoAttrs{}, in).shape()[0]);
    }
    const double n = read_number(size);
    require<ValueError>(is_integral(size.dtype()) && n >= 0, "expected an integer of at least 0: got {} {}", size.dtype(), n);
    return int64_t(n);
  });
}

Tensors while_loop(const CapturedFunction& condition, const CapturedFunction& body, const Tensors& carried, int64_t max_iterations) {
  return naming("while_loop", [&] {
    require<ValueError>(!carried.empty(), "expected at least one carried tensor");
    require<ValueError>(max_iterations >= 0, "max_iterations must not be negative: got {}", max_iterations);
    if (is_capturing()) return recorded_while(condition, body, carried, max_iterations);
    const auto flag = [&](const Tensors& in) {
      Tensors more = condition(in);
      for (TensorHandle& t : more) t = as_condition(t);
      return more;
    };
    return run_while(flag, body, carried, max_iterations);
  });
}

Tensors scan(const CapturedFunction& body, const Tensors& carried, const Tensors& sequences, int64_t dim, bool reverse) {
  return naming("scan", [&] {
    require<ValueError>(!sequences.empty(), "expected at least one sequence");
    const int axis = normalise_dim(dim, sequences[0].rank());
    for (const TensorHandle& s : sequences)
      require(s.rank() > axis && s.shape()[axis] == sequences[0].shape()[axis],
          "the sequences have different lengths along dimension {}: "
          "got {} and {}",
          axis, sequences[0].shape(), s.shape());
    if (is_capturing()) return recorded_scan(body, carried, sequences, axis, reverse);
    const auto results = [&] {
      Bodies bodies;
      const Ref<Graph> step = bodies.add(joined(carried, first_entries(sequences, axis)), body);
      MetaList metas;
      for (size_t k = size_t(carried.size()); k < step->outputs.size(); ++k) metas.push_back(step->values[size_t(step->outputs[k])]);
      return metas;
    };
    return run_scan(body, carried, sequences, axis, reverse, results);
  });
}

}  // namespace pyburn
