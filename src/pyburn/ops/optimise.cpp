// One optimiser step for many tensors at once: ordinary operations that write into their parameters.
#include "pyburn/ops/optimise.h"

#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

// The written tensors are those of every group but the gradients (group 1).
template <class A>
MetaList infer(const A& a, Metas in) {
  const int64_t n = a.tensors;
  require(n >= 0 && n <= int64_t(in.size()) && int64_t(in.size()) == n * a.groups(), "expected {} groups of {} tensors: got {}", a.groups(),
      n, int64_t(in.size()));
  MetaList out;
  for (int64_t i = 0; i < int64_t(in.size()); ++i) {
    require(in[size_t(i)].shape == in[size_t(i % n)].shape, "state does not fit the parameter: got {} for {}", in[size_t(i)].shape,
        in[size_t(i % n)].shape);
    if (i / n != 1) out.push_back(in[size_t(i)]);
  }
  return out;
}

TensorHandle weighted(const TensorHandle& g, const TensorHandle& p, bool maximize, double decay) {
  TensorHandle d = maximize ? -g : TensorHandle(g);
  return decay != 0 ? add(d, p, decay) : d;
}

Tensors decompose_sgd(const SgdStep& a, Inputs in) {
  const int64_t n = a.tensors;
  Tensors parameters, buffers;
  for (int64_t i = 0; i < n; ++i) {
    TensorHandle d = weighted(*in[size_t(n + i)], *in[size_t(i)], a.maximize, a.weight_decay);
    if (a.momentum != 0) {
      const TensorHandle b = a.first ? d : add(mul(*in[size_t(2 * n + i)], a.momentum), d, 1 - a.dampening);
      buffers.push_back(b);
      d = a.nesterov ? add(d, b, a.momentum) : b;
    }
    parameters.push_back(sub(*in[size_t(i)], d, a.lr));
  }
  parameters.append(buffers.begin(), buffers.end());
  return parameters;
}

Tensors decompose_adam(const AdamStep& a, Inputs in) {
  const int64_t n = a.tensors;
  const double correction1 = 1 - std::pow(a.beta1, double(a.step)), correction2 = std::sqrt(1 - std::pow(a.beta2, double(a.step)));
  Tensors parameters, first, second, largest;
  for (int64_t i = 0; i < n; ++i) {
    const TensorHandle& p = *in[size_t(i)];
    const TensorHandle g = weighted(*in[size_t(n + i)], p, a.maximize, a.decoupled ? 0 : a.weight_decay);
    const TensorHandle m = add(mul(*in[size_t(2 * n + i)], a.beta1), g, 1 - a.beta1);
    const TensorHandle v = add(mul(*in[size_t(3 * n + i)], a.beta2), g * g, 1 - a.beta2);
    TensorHandle top = v;
    if (a.amsgrad) largest.push_back(top = maximum(*in[size_t(4 * n + i)], v));
    const TensorHandle update = m / (sqrt(top) / correction2 + a.eps);
    parameters.push_back(
        sub(a.decoupled && a.weight_decay != 0 ? mul(p, 1 - a.lr * a.weight_decay) : TensorHandle(p), update, a.lr / correction1));
    first.push_back(m);
    second.push_back(v);
  }
  for (const Tensors* group : {&first, &second, &largest}) parameters.append(group->begin(), group->end());
  return parameters;
}

}  // namespace

namespace op {
constinit OpInfo sgd_step = define<SgdStep, infer<SgdStep>, nullptr, decompose_sgd>({.schema = "sgd_step(Tensor[] tensors) -> Tensor[]",
    .doc = "One step of stochastic gradient descent for many tensors.",
    .kind = Kind::update,
    .no_grad = "an update of parameters, made under no_grad"});
constinit OpInfo adam_step =
    define<AdamStep, infer<AdamStep>, nullptr, decompose_adam>({.schema = "adam_step(Tensor[] tensors) -> Tensor[]",
        .doc = "One step of Adam or AdamW for many tensors.",
        .kind = Kind::update,
        .no_grad = "an update of parameters, made under no_grad"});
}  // namespace op

namespace {
template <class A>
void step(const OpInfo& info, const A& attrs, std::initializer_list<const Tensors*> groups) {
  InputList in;
  Tensors out;
  int i = 0;
  for (const Tensors* group : groups) {
    in.add(*group);
    if (i++ != 1) out.append(group->begin(), group->end());
  }
  if (!out.empty()) dispatch({&info, &attrs}, in, {out.data(), size_t(out.size())});
}
}  // namespace

void sgd_step(const SgdStep& a, const Tensors& parameters, const Tensors& gradients, const Tensors& buffers) {
  step(op::sgd_step, a, {&parameters, &gradients, &buffers});
}
void adam_step(const AdamStep& a, const Tensors& parameters, const Tensors& gradients, const Tensors& exp_avg, const Tensors& exp_avg_sq,
    const Tensors& max_exp_avg_sq) {
  step(op::adam_step, a, {&parameters, &gradients, &exp_avg, &exp_avg_sq, &max_exp_avg_sq});
}

void register_optimise(OpTable& table) { table.add({&op::sgd_step, &op::adam_step}); }

}  // namespace pyburn
