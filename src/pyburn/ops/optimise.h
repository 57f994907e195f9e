// One optimiser step for many tensors at once: ordinary operations that write into their parameters.
//
// An optimiser is a struct: the coefficients of its update, the number of state tensors per parameter, and the update itself. `step` is
// written once, for any arithmetic type V: it updates the parameter p and the state s from the gradient g. The CPU kernel calls it with
// elements, the decomposition with tensors. Values that depend on the step number are computed before, in double precision. Options are
// numbers where possible (a factor of 0 or 1, not a condition): every condition doubles the number of kernel loops.
//
// An update may take one more tensor, the last: `found_inf`, 0-d. If it is not zero (or is NaN), the step changes nothing. So a step is
// skipped without waiting for the device to report whether the loss was finite.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

namespace op {
extern OpInfo sgd_step, asgd_step, adam_step, adamax_step, nadam_step, radam_step, lion_step, adan_step;
extern OpInfo adagrad_step, adadelta_step, rmsprop_step, rprop_step;
}  // namespace op

namespace formula {

// The descent direction: the gradient, negated when maximising, plus the weight decay term.
template <class V>
V downhill(const V& g, const V& p, bool maximize, double penalty) {
  return add(g * (maximize ? -1.0 : 1.0), p, penalty);
}
// The running average of x with the given rate.
template <class V>
V average(const V& old, const V& x, double rate) {
  return add(old, x - old, rate);
}
template <class V>
V average_square(const V& old, const V& x, double keep) {
  return add(old * keep, x * x, 1 - keep);
}

}  // namespace formula

struct SgdStep {
  double lr = 1e-3, momentum = 0, rate = 1, weight_decay = 0;  // rate: weight of the gradient in the buffer
  bool nesterov = false, maximize = false;
  PB_FIELDS(lr, momentum, rate, weight_decay, nesterov, maximize)
  static constexpr const OpInfo* row = &op::sgd_step;
  static constexpr int kFewest = 0, kMost = 1;  // tensors of state
  int states() const { return momentum != 0; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    V d = formula::downhill(g, p, maximize, weight_decay);
    if (momentum != 0) {
      s[0] = add(s[0] * momentum, d, rate);
      d = nesterov ? add(d, s[0], momentum) : s[0];
    }
    p = add(p, d, -lr);
  }
};

// State: the averaged parameter.
struct AsgdStep {
  double eta = 1e-2, mu = 1, lambd = 1e-4, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(eta, mu, lambd, weight_decay, maximize)
  static constexpr const OpInfo* row = &op::asgd_step;
  static constexpr int kFewest = 1, kMost = 1;
  int states() const { return 1; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    p = add(p * (1 - lambd * eta), formula::downhill(g, p, maximize, weight_decay), -eta);
    s[0] = formula::average(s[0], p, mu);
  }
};

// Adam and AdamW. State: averages of the gradient and its square, and the maximum of the latter with amsgrad.
struct AdamStep {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double rate = 1e-3, root = 1;                              // lr / (1 - beta1^t), sqrt(1 - beta2^t)
  double penalty = 0, keep = 1;                              // weight decay added to the gradient, or applied to the parameter
  bool amsgrad = false, maximize = false, cautious = false;  // cautious: decay only if the step moves towards zero, too
  PB_FIELDS(beta1, beta2, eps, rate, root, penalty, keep, amsgrad, maximize, cautious)
  static constexpr const OpInfo* row = &op::adam_step;
  static constexpr int kFewest = 2, kMost = 3;
  int states() const { return amsgrad ? 3 : 2; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, penalty);
    s[0] = formula::average(s[0], d, 1 - beta1);
    s[1] = formula::average_square(s[1], d, beta2);
    if (amsgrad) s[2] = larger(s[2], s[1]);
    const V change = s[0] / (square_root(amsgrad ? s[2] : s[1]) / root + eps);
    const V kept = p * keep;
    p = add(cautious ? choose(change * p, kept, p) : kept, change, -rate);
  }
};

// State: the average of the gradient, and its decaying maximum.
struct AdamaxStep {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, rate = 2e-3, weight_decay = 0;  // rate: lr / (1 - beta1^t)
  bool maximize = false;
  PB_FIELDS(beta1, beta2, eps, rate, weight_decay, maximize)
  static constexpr const OpInfo* row = &op::adamax_step;
  static constexpr int kFewest = 2, kMost = 2;
  int states() const { return 2; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, weight_decay);
    s[0] = formula::average(s[0], d, 1 - beta1);
    s[1] = larger(s[1] * beta2, magnitude(d) + eps);
    p = add(p, s[0] / s[1], -rate);
  }
};

// State as in Adam.
struct NAdamStep {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, correction = 1;  // 1 - beta2^t
  double gradient_rate = 0, average_rate = 0, penalty = 0, keep = 1;
  bool maximize = false;
  PB_FIELDS(beta1, beta2, eps, correction, gradient_rate, average_rate, penalty, keep, maximize)
  static constexpr const OpInfo* row = &op::nadam_step;
  static constexpr int kFewest = 2, kMost = 2;
  int states() const { return 2; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, penalty);
    s[0] = formula::average(s[0], d, 1 - beta1);
    s[1] = formula::average_square(s[1], d, beta2);
    p = p * keep - add(d * gradient_rate, s[0], average_rate) / (square_root(s[1] / correction) + eps);
  }
};

// State as in Adam. Adaptive only when the variance of the averaged squares is known precisely enough.
struct RAdamStep {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, rate = 1e-3, penalty = 0, keep = 1;
  bool adaptive = false, maximize = false;
  PB_FIELDS(beta1, beta2, eps, rate, penalty, keep, adaptive, maximize)
  static constexpr const OpInfo* row = &op::radam_step;
  static constexpr int kFewest = 2, kMost = 2;
  int states() const { return 2; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, penalty);
    s[0] = formula::average(s[0], d, 1 - beta1);
    s[1] = formula::average_square(s[1], d, beta2);
    p = add(p * keep, adaptive ? s[0] / (square_root(s[1]) + eps) : s[0], -rate);
  }
};

// State: the average of the gradient; only its sign is used.
struct LionStep {
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, keep = 1;
  bool maximize = false;
  PB_FIELDS(lr, beta1, beta2, keep, maximize)
  static constexpr const OpInfo* row = &op::lion_step;
  static constexpr int kFewest = 1, kMost = 1;
  int states() const { return 1; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, 0);
    p = add(p * keep, signum(formula::average(s[0], d, 1 - beta1)), -lr);
    s[0] = formula::average(s[0], d, 1 - beta2);
  }
};

// State: averages of the gradient, the squared look-ahead gradient and the gradient difference; the previous gradient.
struct AdanStep {
  double beta1 = 0.98, beta2 = 0.92, beta3 = 0.99, eps = 1e-8;
  double rate = 1e-3, change_rate = 1e-3, root = 1;  // lr / (1 - beta1^t), lr * beta2 / (1 - beta2^t), sqrt(1 - beta3^t)
  double keep = 1, shrink = 1;                       // weight decay before or after the step
  double changed = 1;                                // 0 in the first step
  bool maximize = false;
  PB_FIELDS(beta1, beta2, beta3, eps, rate, change_rate, root, keep, shrink, changed, maximize)
  static constexpr const OpInfo* row = &op::adan_step;
  static constexpr int kFewest = 4, kMost = 4;
  int states() const { return 4; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, 0), change = (d - s[3]) * changed;
    s[0] = formula::average(s[0], d, 1 - beta1);
    s[1] = formula::average_square(s[1], add(d, change, beta2), beta3);
    s[2] = formula::average(s[2], change, 1 - beta2);
    s[3] = d;
    p = (p * keep - add(s[0] * rate, s[2], change_rate) / (square_root(s[1]) / root + eps)) * shrink;
  }
};

// State: the sum of squares.
struct AdagradStep {
  double rate = 1e-2, eps = 1e-10, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(rate, eps, weight_decay, maximize)
  static constexpr const OpInfo* row = &op::adagrad_step;
  static constexpr int kFewest = 1, kMost = 1;
  int states() const { return 1; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, weight_decay);
    s[0] = s[0] + d * d;
    p = add(p, d / (square_root(s[0]) + eps), -rate);
  }
};

// State: averages of squared gradients and squared steps.
struct AdadeltaStep {
  double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0;
  bool maximize = false;
  PB_FIELDS(lr, rho, eps, weight_decay, maximize)
  static constexpr const OpInfo* row = &op::adadelta_step;
  static constexpr int kFewest = 2, kMost = 2;
  int states() const { return 2; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, weight_decay);
    s[0] = formula::average_square(s[0], d, rho);
    const V change = square_root(s[1] + eps) / square_root(s[0] + eps) * d;
    s[1] = formula::average_square(s[1], change, rho);
    p = add(p, change, -lr);
  }
};

// State: the average of squares, a momentum buffer (with momentum), the average of the gradient (if centered).
struct RmspropStep {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;
  PB_FIELDS(lr, alpha, eps, weight_decay, momentum, centered, maximize)
  static constexpr const OpInfo* row = &op::rmsprop_step;
  static constexpr int kFewest = 1, kMost = 3;
  int states() const { return 1 + (momentum > 0) + centered; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, weight_decay);
    V& mean = s[momentum > 0 ? 2 : 1];
    s[0] = formula::average_square(s[0], d, alpha);
    if (centered) mean = formula::average(mean, d, 1 - alpha);
    V change = d / (square_root(centered ? s[0] - mean * mean : s[0]) + eps);
    if (momentum > 0) change = s[1] = s[1] * momentum + change;
    p = add(p, change, -lr);
  }
};

// State: the previous gradient, and the step size of each element.
struct RpropStep {
  double eta_minus = 0.5, eta_plus = 1.2, smallest = 1e-6, largest = 50;
  bool maximize = false;
  PB_FIELDS(eta_minus, eta_plus, smallest, largest, maximize)
  static constexpr const OpInfo* row = &op::rprop_step;
  static constexpr int kFewest = 2, kMost = 2;
  int states() const { return 2; }
  template <class V>
  void step(V& p, const V& g, V* s) const {
    const V d = formula::downhill(g, p, maximize, 0), same = d * s[0], turned = same * -1.0;
    s[1] = smaller(larger(choose(same, s[1] * eta_plus, choose(turned, s[1] * eta_minus, s[1])), smallest), largest);
    s[0] = choose(turned, 0.0, d);
    p = p - signum(s[0]) * s[1];
  }
};

namespace detail {
void run_update(const OpInfo&, const void* attrs, int states, const Tensors& parameters, const Tensors& gradients, std::span<const Tensors>,
    bool recorded, const TensorHandle& found_inf);
}
// One step for all parameters. state[k] holds the k-th state tensor of each. `recorded`: the step is differentiable.
template <class A>
void run_update(const A& a, const Tensors& parameters, const Tensors& gradients, std::span<const Tensors> state, bool recorded = false,
    const TensorHandle& found_inf = {}) {
  detail::run_update(*A::row, &a, a.states(), parameters, gradients, state, recorded, found_inf);
}

}  // namespace pyburn
