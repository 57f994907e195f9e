// Optimiser steps: one pass over each parameter and its state.
#include "pyburn/ops/optimise.h"

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// The tensors of one parameter (p, g, state...) as contiguous arrays of T. Others go through a copy and back.
template <class T>
class Slots {
 public:
  Slots(Inputs in, Outputs out, int64_t n, int64_t i) {
    const DType want = sizeof(T) == 4 ? DType::float32 : DType::float64;
    for (int64_t group = 0; group < int64_t(in.size()) / n; ++group) {
      const bool written = group != 1;
      const TensorHandle& t = written ? out[size_t((group ? group - 1 : 0) * n + i)] : *in[size_t(group * n + i)];
      const bool direct = t.dtype() == want && t.layout().is_contiguous();
      work_.push_back(direct ? t : converted(t, want));
      target_.push_back(direct || !written ? TensorHandle() : t);
    }
  }
  ~Slots() {
    for (int64_t k = 0; k < work_.size(); ++k)
      if (target_[k].defined()) convert_into(work_[k], target_[k]);
  }
  T* operator[](int64_t group) const { return work_[group].template data<T>(); }
  int64_t numel() const { return work_[0].numel(); }

 private:
  SmallVector<TensorHandle, 6> work_, target_;
};

template <class T>
void sgd(const SgdStep& a, Inputs in, Outputs out) {
  const T lr = T(a.lr), momentum = T(a.momentum), rest = T(1 - a.dampening), decay = T(a.weight_decay), sign = a.maximize ? T(-1) : T(1);
  for (int64_t k = 0; k < a.tensors; ++k) {
    const Slots<T> s(in, out, a.tensors, k);
    T *p = s[0], *g = s[1], *b = a.momentum != 0 ? s[2] : nullptr;
    parallel_for(s.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T d = sign * g[i] + decay * p[i];
        if (b) {
          b[i] = a.first ? d : momentum * b[i] + rest * d;
          d = a.nesterov ? d + momentum * b[i] : b[i];
        }
        p[i] -= lr * d;
      }
    });
  }
}

template <class T>
void adam(const AdamStep& a, Inputs in, Outputs out) {
  const double correction1 = 1 - std::pow(a.beta1, double(a.step)), correction2 = std::sqrt(1 - std::pow(a.beta2, double(a.step)));
  const T beta1 = T(a.beta1), beta2 = T(a.beta2), eps = T(a.eps), step = T(a.lr / correction1), root = T(correction2);
  const T decay = T(a.decoupled ? 0 : a.weight_decay), keep = T(a.decoupled ? 1 - a.lr * a.weight_decay : 1),
          sign = a.maximize ? T(-1) : T(1);
  for (int64_t k = 0; k < a.tensors; ++k) {
    const Slots<T> s(in, out, a.tensors, k);
    T *p = s[0], *g = s[1], *m = s[2], *v = s[3], *top = a.amsgrad ? s[4] : nullptr;
    parallel_for(s.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T d = sign * g[i] + decay * p[i];
        m[i] = beta1 * m[i] + (1 - beta1) * d;
        v[i] = beta2 * v[i] + (1 - beta2) * d * d;
        T w = v[i];
        if (top) w = top[i] = std::max(top[i], w);
        p[i] = keep * p[i] - step * m[i] / (std::sqrt(w) / root + eps);
      }
    });
  }
}

}  // namespace

void register_optimise(KernelTable& kernels) {
  const auto half = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<sgd<float>>(op::sgd_step, half);
  kernels.add<sgd<double>>(op::sgd_step, DType::float64);
  kernels.add<adam<float>>(op::adam_step, half);
  kernels.add<adam<double>>(op::adam_step, DType::float64);
}

}  // namespace pyburn::cpu
