// One optimiser step for many tensors at once: ordinary operations that write into their parameters.
#include "pyburn/ops/optimise.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

// The V of a formula: a whole tensor, or a number.
class Whole {
 public:
  Whole() = default;
  Whole(double number) : number_(number) {}
  Whole(TensorHandle tensor) : tensor_(std::move(tensor)) {}
  const TensorHandle& tensor() const { return tensor_; }
  Operand operand() const { return tensor_.defined() ? Operand(tensor_) : Operand(number_); }

  friend Whole operator+(const Whole& a, const Whole& b) { return fn::add(a.operand(), b.operand()); }
  friend Whole operator-(const Whole& a, const Whole& b) { return fn::sub(a.operand(), b.operand()); }
  friend Whole operator*(const Whole& a, const Whole& b) { return b.is_one() ? a : Whole(fn::mul(a.operand(), b.operand())); }
  friend Whole operator/(const Whole& a, const Whole& b) { return b.is_one() ? a : Whole(fn::div(a.operand(), b.operand())); }
  friend Whole add(const Whole& a, const Whole& b, double factor) {
    return factor == 0 ? a : Whole(fn::add(a.operand(), b.operand(), factor));
  }
  friend Whole square_root(const Whole& a) { return fn::sqrt(a.tensor_); }
  friend Whole magnitude(const Whole& a) { return fn::abs(a.tensor_); }
  friend Whole signum(const Whole& a) { return fn::sign(a.tensor_); }
  friend Whole larger(const Whole& a, const Whole& b) { return fn::maximum(a.operand(), b.operand()); }
  friend Whole smaller(const Whole& a, const Whole& b) { return fn::minimum(a.operand(), b.operand()); }
  // positive where x > 0.
  friend Whole choose(const Whole& x, const Whole& positive, const Whole& otherwise) {
    return fn::where(fn::gt(x.operand(), 0), positive.operand(), otherwise.operand());
  }

 private:
  bool is_one() const { return !tensor_.defined() && number_.to_double() == 1; }
  TensorHandle tensor_;
  Scalar number_;
};

// Inputs are n parameters, n gradients and n of each state, then found_inf or nothing; written are the parameters and the state.
template <class A>
MetaList infer(const A& a, Metas in) {
  const int64_t groups = 2 + a.states(), n = int64_t(in.size()) / groups, rest = int64_t(in.size()) - n * groups;
  require(n > 0 && rest <= 1, "expected {} groups of tensors, and at most one more: got {} tensors", groups, int64_t(in.size()));
  require(rest == 0 || in.back().shape.numel() == 1, "found_inf must have one element: got {}", in.back().shape);
  MetaList out;
  for (int64_t i = 0; i < n * groups; ++i) {
    require(in[size_t(i)].shape == in[size_t(i % n)].shape, "the shape of the state does not match the parameter: got {} for {}",
        in[size_t(i)].shape, in[size_t(i % n)].shape);
    if (i / n != 1) out.push_back(in[size_t(i)]);
  }
  return out;
}

template <class A>
Tensors decompose_update(const A& a, Inputs in) {
  const int64_t states = a.states(), n = int64_t(in.size()) / (2 + states);
  const bool guarded = int64_t(in.size()) > n * (2 + states);
  const TensorHandle left_out = guarded ? fn::ne(fn::reshape(*in.back(), {}), 0) : TensorHandle();
  auto kept = [&](const Whole& changed, int64_t group, int64_t i) {
    return guarded ? fn::where(left_out, *in[size_t(group * n + i)], changed.tensor()) : changed.tensor();
  };
  Tensors out(n * (1 + states), {});
  for (int64_t i = 0; i < n; ++i) {
    Whole p(*in[size_t(i)]), s[A::kMost];
    for (int64_t k = 0; k < states; ++k) s[k] = *in[size_t((2 + k) * n + i)];
    a.step(p, Whole(*in[size_t(n + i)]), s);
    out[i] = kept(p, 0, i);
    for (int64_t k = 0; k < states; ++k) out[(1 + k) * n + i] = kept(s[k], 2 + k, i);
  }
  return out;
}

constexpr OpInfo updating(OpInfo row) {
  row.kind = Kind::update;
  row.no_grad = "an update of parameters, made under no_grad";
  return row;
}

}  // namespace

namespace op {
constinit OpInfo sgd_step = updating(define<SgdStep, infer<SgdStep>, nullptr, decompose_update<SgdStep>>(
    {.schema = "sgd_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of stochastic gradient descent for many tensors."}));
constinit OpInfo asgd_step = updating(define<AsgdStep, infer<AsgdStep>, nullptr, decompose_update<AsgdStep>>(
    {.schema = "asgd_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of averaged gradient descent for many tensors."}));
constinit OpInfo adam_step = updating(define<AdamStep, infer<AdamStep>, nullptr, decompose_update<AdamStep>>(
    {.schema = "adam_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of Adam or AdamW for many tensors."}));
constinit OpInfo adamax_step = updating(define<AdamaxStep, infer<AdamaxStep>, nullptr, decompose_update<AdamaxStep>>(
    {.schema = "adamax_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of Adamax for many tensors."}));
constinit OpInfo nadam_step = updating(define<NAdamStep, infer<NAdamStep>, nullptr, decompose_update<NAdamStep>>(
    {.schema = "nadam_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of NAdam for many tensors."}));
constinit OpInfo radam_step = updating(define<RAdamStep, infer<RAdamStep>, nullptr, decompose_update<RAdamStep>>(
    {.schema = "radam_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of RAdam for many tensors."}));
constinit OpInfo lion_step = updating(define<LionStep, infer<LionStep>, nullptr, decompose_update<LionStep>>(
    {.schema = "lion_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of Lion for many tensors."}));
constinit OpInfo adan_step = updating(define<AdanStep, infer<AdanStep>, nullptr, decompose_update<AdanStep>>(
    {.schema = "adan_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of Adan for many tensors."}));
constinit OpInfo adagrad_step = updating(define<AdagradStep, infer<AdagradStep>, nullptr, decompose_update<AdagradStep>>(
    {.schema = "adagrad_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of Adagrad for many tensors."}));
constinit OpInfo adadelta_step = updating(define<AdadeltaStep, infer<AdadeltaStep>, nullptr, decompose_update<AdadeltaStep>>(
    {.schema = "adadelta_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of Adadelta for many tensors."}));
constinit OpInfo rmsprop_step = updating(define<RmspropStep, infer<RmspropStep>, nullptr, decompose_update<RmspropStep>>(
    {.schema = "rmsprop_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of RMSprop for many tensors."}));
constinit OpInfo rprop_step = updating(define<RpropStep, infer<RpropStep>, nullptr, decompose_update<RpropStep>>(
    {.schema = "rprop_step(Tensor[] tensors) -> Tensor[]", .doc = "One step of Rprop for many tensors."}));
}  // namespace op

void detail::run_update(const OpInfo& row, const void* attrs, int states, const Tensors& parameters, const Tensors& gradients,
    std::span<const Tensors> state, bool recorded, const TensorHandle& found_inf) {
  Tensors out = parameters;
  for (const Tensors& s : state.first(size_t(states))) out.append(s.begin(), s.end());
  Tensors kept;  // the gradient of the step reads what the step has read, when that has been overwritten
  if (recorded)
    for (const TensorHandle& t : out) kept.push_back(clone(t));
  const Tensors& old = recorded ? kept : out;
  const std::span<const TensorHandle> given(old.data(), size_t(old.size()));
  InputList in;
  in.add(given.first(size_t(parameters.size())));
  in.add(gradients);
  in.add(given.subspan(size_t(parameters.size())));
  if (found_inf.defined()) in.add(found_inf);
  if (!recorded && !out.empty()) return dispatch({&row, attrs}, in, {out.data(), size_t(out.size())});
  const Tensors fresh = row.decompose({&row, attrs}, in);  // ordinary operations, each with a gradient
  for (int64_t i = 0; i < out.size(); ++i) cast_into(out[i], fresh[i], out[i].dtype());
}

void register_optimise(OpTable& table) {
  table.add({&op::sgd_step, &op::asgd_step, &op::adam_step, &op::adamax_step, &op::nadam_step, &op::radam_step, &op::lion_step,
      &op::adan_step, &op::adagrad_step, &op::adadelta_step, &op::rmsprop_step, &op::rprop_step});
}

}  // namespace pyburn
