// OpInfo: one constant-initialised row per operation. The row's address is the operation's identity.
#pragma once
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/tensor/handle.h"

namespace pyburn {

class Backend;
class GradContext;
struct OpInfo;

// An operation borrowed for a call.
struct OpRef {
  const OpInfo* info;
  const void* attrs;
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(attrs);
  }
};

using Metas = std::span<const Meta>;
using MetaList = SmallVector<Meta, 2>;
using Tensors = SmallVector<TensorHandle, 4>;
using Grads = Tensors;  // one per input; undefined where there is none

// What fusion may merge, router must keep together and autodiff may recompute.
enum class Kind : uint8_t {
  elementwise,  // the door promotes and broadcasts the inputs: kernels see equal shapes
  reduce,
  view,      // a new layout on the same storage
  contract,  // matmul, convolution
  gather,    // reads through an index
  random,
  fill,     // creates from attributes alone
  dynamic,  // the size of the result depends on values: the kernel makes its outputs
  update,   // writes into its own inputs, element by element: optimiser steps
  opaque,   // anything else
};

// How the door changes the dtypes of inputs.
enum class Cast : uint8_t {
  none,
  promote,        // to their common dtype
  promote_float,  // the same, and integers become the default floating dtype
  to_result,      // to the dtype of the first output
};

// What autocast does to the floating inputs, where it is on (runtime/autocast.h).
enum class Autocast : uint8_t {
  none,   // nothing
  lower,  // to its dtype
  full,   // to float32
};

// What the gradient rule reads. `later_outputs`: all but the first (the indices beside values), so that users may go on to write into it.
enum Saves : uint8_t { nothing = 0, inputs = 1, outputs = 2, later_outputs = 4 };
constexpr Saves operator|(Saves a, Saves b) { return Saves(uint8_t(a) | uint8_t(b)); }

// What the gradient of one input reads: positions of operands in the schema, kRest for all from there on, and kOutputs.
struct ReadSet {
  static constexpr int kRest = 6, kOutputs = 7;
  uint8_t bits = 0;
  constexpr ReadSet() = default;
  constexpr ReadSet(std::initializer_list<int> positions) {
    for (int p : positions) bits |= uint8_t(1 << p);
  }
  constexpr bool has_operand(int position) const { return bits >> (position < kRest ? position : kRest) & 1; }
  constexpr bool has_any_operand() const { return bits & ((1 << kOutputs) - 1); }
  constexpr bool has_outputs() const { return bits >> kOutputs & 1; }
};
inline constexpr int kOutputs = ReadSet::kOutputs;

// Rows whose gradients read less than everything say which one reads what, so that nothing is kept for a gradient that nobody wants:
// `.reads = {{1}, {0, 1}}` for a quotient. The gradients of inputs that are not listed read nothing.
struct Reads {
  static constexpr int kMost = 4;
  bool stated = false;
  ReadSet by_gradient[kMost];
  constexpr Reads() = default;
  constexpr Reads(std::initializer_list<ReadSet> sets) : stated(true) {
    int i = 0;
    for (const ReadSet& s : sets) by_gradient[i++] = s;
  }
};

// "max.dim(Tensor input, ...) -> Tensor": the name is max.dim, unique; the function that users call is max. Forms of one
// function that take different arguments are rows of their own.
constexpr std::string_view name_in(std::string_view schema) { return schema.substr(0, schema.find('(')); }
constexpr std::string_view function_in(std::string_view schema) { return schema.substr(0, schema.find_first_of(".(")); }

// The part of an operation in a run of elementwise operations that becomes one kernel; elementwise ones are in the middle.
enum class Fusing : uint8_t {
  none,
  begins,  // a product or a convolution: its result is worth waiting for, what follows is done to it on the way
  ends,    // a reduction of trailing axes
};

// What a call costs in multiplications with an addition, from the shapes of its inputs (rank 0 where one is absent) and of its
// first output.
using MultiplyAdds = int64_t (*)(std::span<const Shape* const> in, const Shape& out);

// What a user of `define` writes.
struct OpSpec {
  const char* schema;
  const char* doc;
  Kind kind = Kind::opaque;
  Cast cast = Cast::none;
  Autocast autocast = Autocast::none;
  Saves saves = nothing;
  Reads reads = {};            // instead of Saves::inputs and outputs, where less is enough
  bool may_alias = false;      // the result may be a view of the input: its decomposition says
  bool in_place = false;       // has the form x.op_(), although not elementwise
  bool changes_first = false;  // the result is the first input with changes: in place, kernels get it as the output too
  uint8_t key = 0;             // the input whose dtype chooses the kernel
  Fusing fusing = Fusing::none;
  MultiplyAdds multiply_adds = nullptr;  // of contractions; null: next to nothing
  const char* no_grad = nullptr;         // the reason, where there is no gradient
  const char* torch = nullptr;           // the reference for goldens where PyTorch's name differs
  const char* example = nullptr;         // two lines of Python for the docstring
  const char* samples = nullptr;         // one case per line, see tests/conformance/samples.py
};

// Rules receive the row with the attributes: a row that is made at run time, as those of Python are, holds what its rules need.
struct OpInfo : OpSpec {
  using InferFn = void (*)(OpRef op, Metas in, MetaList& out);
  using ViewFn = Layout (*)(OpRef op, const Layout& in);
  using GradFn = Grads (*)(OpRef op, const GradContext&);
  using DecomposeFn = Tensors (*)(OpRef op, Inputs in);
  using ServesFn = bool (*)(const OpInfo& row, const Backend& leaf);

  using ScalarFn = const Scalar* (*)(const void* attrs);
  using NumberFirstFn = bool (*)(const void* attrs);

  const AttrType* attrs = nullptr;
  ScalarFn scalar = nullptr;             // a number among the attributes that takes part in promotion
  NumberFirstFn number_first = nullptr;  // is the first operand a number, so that input 0 is operand 1?
  InferFn infer = nullptr;               // null for views; of dynamic ops: -1 for an extent that follows from values
  ViewFn view = nullptr;
  GradFn grad = nullptr;
  DecomposeFn decompose = nullptr;
  // The row's own kernel, for leaves that have none: it gets tensors of the leaf that it serves, else copies in host memory.
  DecomposeFn kernel = nullptr;
  ServesFn serves = nullptr;  // null: every leaf whose tensors lie in host memory
  uint16_t index = 0;         // dense, given at registration

  constexpr std::string_view name() const { return name_in(schema); }
  constexpr std::string_view function() const { return function_in(schema); }
};

namespace detail {

template <class A>
const Scalar* erased_scalar(const void* attrs) {
  return static_cast<const A*>(attrs)->promoting();
}
template <class A>
bool erased_number_first(const void* attrs) {
  return static_cast<const A*>(attrs)->number_first();
}
template <class A, auto infer>
void erased_infer(OpRef op, Metas in, MetaList& out) {
  const A& a = op.as<A>();
  if constexpr (requires { Meta(infer(a, in)); }) out.push_back(infer(a, in));
  else out = infer(a, in);
}
template <class A, auto view>
Layout erased_view(OpRef op, const Layout& in) {
  return view(op.as<A>(), in);
}
template <class A, auto grad>
Grads erased_grad(OpRef op, const GradContext& c) {
  return grad(op.as<A>(), c);
}
template <class A, auto decompose>
Tensors erased_decompose(OpRef op, Inputs in) {
  if constexpr (requires(const A& a) { Tensors(decompose(a, in)); }) return decompose(op.as<A>(), in);
  else return Tensors{TensorHandle(decompose(op.as<A>(), in))};
}

}  // namespace detail

// The typed rules are template arguments, so that a row (constinit) needs no start-up code. nullptr leaves a rule out.
template <class A, auto infer, auto grad = nullptr, auto decompose = nullptr>
constexpr OpInfo define(OpSpec spec) {
  OpInfo row;
  static_cast<OpSpec&>(row) = spec;
  row.attrs = &attr_type<A>;
  if constexpr (requires(const A& a) { a.promoting(); }) row.scalar = detail::erased_scalar<A>;
  if constexpr (requires(const A& a) { a.number_first(); }) row.number_first = detail::erased_number_first<A>;
  if constexpr (!std::is_null_pointer_v<decltype(infer)>) row.infer = detail::erased_infer<A, infer>;
  if constexpr (!std::is_null_pointer_v<decltype(grad)>) row.grad = detail::erased_grad<A, grad>;
  if constexpr (!std::is_null_pointer_v<decltype(decompose)>) row.decompose = detail::erased_decompose<A, decompose>;
  return row;
}

template <class A, auto layout, auto grad>
constexpr OpInfo define_view(OpSpec spec) {
  OpInfo row = define<A, nullptr, grad>(spec);
  row.kind = Kind::view;
  row.view = detail::erased_view<A, layout>;
  return row;
}

// A composite without a row of its own: a C++ function written in public operations. The generator gives it the
// same function, method, binding, stub and page as an operation.
struct FunctionInfo {
  const char* schema;
  const char* doc;
  const char* torch = nullptr;
  const char* example = nullptr;
  const char* samples = nullptr;
  bool in_place = false;  // has the form x.function_()
  bool out = false;       // takes out=
  constexpr std::string_view name() const { return name_in(schema); }
};

// All operations, in order of registration. Plugins add theirs the same way. Every method may be called on any thread.
class OpTable {
 public:
  static constexpr size_t kMost = 4096;  // tables of other parts have room for as many
  static OpTable& global();
  // ValueError, and nothing is added, when a name is taken or a row is incomplete: a schema that does not parse, no inference rule, or
  // neither a gradient nor a decomposition nor a reason (no_grad) against one.
  void add(std::span<OpInfo* const> rows);
  void add(std::initializer_list<OpInfo*> rows) { add(std::span(rows.begin(), rows.size())); }
  void add(std::span<const FunctionInfo> functions);
  // The same; takes the place of a row of that name that was set before. That one stays valid for graphs and tapes that hold it.
  void set(OpInfo* row);
  const OpInfo* find(std::string_view name) const;  // null when unknown
  // Asks other packages before it calls a name unknown.
  const OpInfo* discover(std::string_view name) const;
  std::vector<const OpInfo*> rows() const;
  std::span<const FunctionInfo* const> functions() const;

 private:
  struct Body;
  OpTable();
  Body* body_;
};

// Called once per unknown name: registers what other packages bring.
void set_operation_discovery(void (*discover)());

}  // namespace pyburn
