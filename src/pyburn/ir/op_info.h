// OpInfo: one constant-initialised row per operation. The row's address is the operation's identity.
#pragma once
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/tensor/handle.h"

namespace pyburn {

class Backend;
class GradContext;
struct OpInfo;

// A borrowed operation for a call.
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
using Grads = Tensors;  // one per input; undefined if there is none

// The kind of an operation, for fusion, routing and recomputation.
enum class Kind : uint8_t {
  elementwise,  // the door promotes and broadcasts the inputs: kernels receive equal shapes
  reduce,
  view,      // a new layout on the same storage
  contract,  // matmul, convolution
  gather,    // indexed reads
  random,
  fill,     // creates from attributes alone
  dynamic,  // the output size depends on values: the kernel creates its outputs
  update,   // writes to its inputs, element by element: optimiser steps
  opaque,   // anything else
};

// How the door converts the dtypes of inputs.
enum class Cast : uint8_t {
  none,
  promote,        // to their common dtype
  promote_float,  // as above, and integers become the default floating-point dtype
  to_result,      // to the dtype of the first output
};

// How autocast converts floating-point inputs (runtime/autocast.h).
enum class Autocast : uint8_t {
  none,   // nothing
  lower,  // to the autocast dtype
  full,   // to float32
};

// The values that the gradient rule reads. `later_outputs`: all except the first, which users may then overwrite.
enum Saves : uint8_t { nothing = 0, inputs = 1, outputs = 2, later_outputs = 4 };
constexpr Saves operator|(Saves a, Saves b) { return Saves(uint8_t(a) | uint8_t(b)); }

// The values that the gradient of one input reads: indices of operands in the schema, kRest for all following ones, and kOutputs.
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

// If gradients read only some values, a row lists them per input, so that nothing is saved for gradients that are not required: `.reads =
// {{1}, {0, 1}}` for a quotient. Gradients of unlisted inputs read nothing.
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

// "max.dim(Tensor input, ...) -> Tensor": the unique name is max.dim; users call the function max. Overloads of a function are separate
// rows.
constexpr std::string_view name_in(std::string_view schema) { return schema.substr(0, schema.find('(')); }
constexpr std::string_view function_in(std::string_view schema) { return schema.substr(0, schema.find_first_of(".(")); }

// The role of an operation in a fused run of element-wise operations.
enum class Fusing : uint8_t {
  none,
  begins,  // a product or a convolution: the following operations are applied to its result
  ends,    // a reduction of trailing dimensions
};

// The cost of a call in multiply-adds, from the shapes of its inputs (rank 0 if absent) and of its first
// output.
using MultiplyAdds = int64_t (*)(std::span<const Shape* const> in, const Shape& out);

// The fields of a row that a user of `define` writes.
struct OpSpec {
  const char* schema;
  const char* doc;
  Kind kind = Kind::opaque;
  Cast cast = Cast::none;
  Autocast autocast = Autocast::none;
  Saves saves = nothing;
  Reads reads = {};            // instead of Saves::inputs and outputs, if fewer values suffice
  bool may_alias = false;      // the result may be a view of the input, depending on the decomposition
  bool in_place = false;       // has the form x.op_(), although not element-wise
  bool changes_first = false;  // the result is a modified first input: in place, kernels receive it also as the output
  uint8_t key = 0;             // the input whose dtype chooses the kernel
  Fusing fusing = Fusing::none;
  MultiplyAdds multiply_adds = nullptr;  // of contractions; null: negligible
  const char* no_grad = nullptr;         // the reason, if there is no gradient
  const char* torch = nullptr;           // the reference for goldens, if PyTorch's name differs
  const char* example = nullptr;         // two lines of Python for the docstring
  const char* samples = nullptr;         // one case per line, see tests/conformance/samples.py
};

// Rules receive the row with the attributes: rows created at run time, such as those of Python, hold the data of their rules.
struct OpInfo : OpSpec {
  using InferFn = void (*)(OpRef op, Metas in, MetaList& out);
  using ViewFn = Layout (*)(OpRef op, const Layout& in);
  using GradFn = Grads (*)(OpRef op, const GradContext&);
  using DecomposeFn = Tensors (*)(OpRef op, Inputs in);
  using ServesFn = bool (*)(const OpInfo& row, const Backend& leaf);

  using ScalarFn = const Scalar* (*)(const void* attrs);
  using NumberFirstFn = bool (*)(const void* attrs);

  const AttrType* attrs = nullptr;
  ScalarFn scalar = nullptr;             // the index of a number that takes part in promotion
  NumberFirstFn number_first = nullptr;  // is the first operand a number, so that input 0 is operand 1?
  InferFn infer = nullptr;               // null for views; of dynamic ops: -1 for an extent that follows from values
  ViewFn view = nullptr;
  GradFn grad = nullptr;
  DecomposeFn decompose = nullptr;
  // The row's own kernel, for leaves without one: it receives tensors of the leaf, or copies in host memory.
  DecomposeFn kernel = nullptr;
  ServesFn serves = nullptr;  // null: every leaf with tensors in host memory
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

// The typed rules are template arguments, so that a row (constinit) needs no start-up code. nullptr omits a rule.
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

// A composite without its own row: a C++ function of public operations. The generator creates the same function, method, binding, stub and
// page as for an operation.
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

// All operations, in order of registration. Plugins add theirs in the same way. Every method may be called on any thread.
class OpTable {
 public:
  static constexpr size_t kMost = 4096;  // capacity of the tables of other parts
  static OpTable& global();
  // ValueError, and nothing is added, if a name is taken or a row is incomplete: the schema is invalid, or there is no inference rule, or
  // no gradient, decomposition or reason (no_grad) against one.
  void add(std::span<OpInfo* const> rows);
  void add(std::initializer_list<OpInfo*> rows) { add(std::span(rows.begin(), rows.size())); }
  void add(std::span<const FunctionInfo> functions);
  // As above; replaces a row with that name that was set before, which stays valid for graphs and tapes that use it.
  void set(OpInfo* row);
  const OpInfo* find(std::string_view name) const;  // null if unknown
  // Loads other packages before a name is reported as unknown.
  const OpInfo* discover(std::string_view name) const;
  std::vector<const OpInfo*> rows() const;
  std::span<const FunctionInfo* const> functions() const;

 private:
  struct Body;
  OpTable();
  Body* body_;
};

// Called once per unknown name: registers operations of other packages.
void set_operation_discovery(void (*discover)());

}  // namespace pyburn
