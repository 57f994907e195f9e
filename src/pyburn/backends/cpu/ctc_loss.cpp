// Connectionist temporal classification. Sums of probabilities are formed in double precision, as logarithms; an example is a task.
#include "pyburn/ops/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kPlaceWork = 20;  // nanoseconds: exponentials and a logarithm

double log_sum(double a, double b) {
  const double large = std::max(a, b);
  return large == -kInfinity ? large : large + std::log1p(std::exp(std::min(a, b) - large));
}

// The places of one target: labels with blanks before, between and after them.
template <class T>
struct Places {
  const T* scores;  // of the first step; those of the next one are `step` further
  int64_t step, steps, count;
  std::vector<int64_t> labels;

  double score(int64_t t, int64_t place) const { return double(scores[t * step + labels[size_t(place)]]); }
  bool skips(int64_t place) const { return place % 2 == 1 && place >= 3 && labels[size_t(place)] != labels[size_t(place - 2)]; }

  // One step for the paths that are at each place.
  void forward(int64_t t, const double* now, double* next) const {
    for (int64_t s = 0; s < count; ++s) {
      double sum = now[s];
      if (s >= 1) sum = log_sum(sum, now[s - 1]);
      if (skips(s)) sum = log_sum(sum, now[s - 2]);
      next[s] = sum + score(t, s);
    }
  }
  // And backwards: `after` becomes what comes after the step before t.
  void backward(int64_t t, double* after) const {
    for (int64_t s = 0; s < count; ++s) after[s] += score(t, s);
    for (int64_t s = 0; s < count; ++s) {
      double sum = after[s];
      if (s + 1 < count) sum = log_sum(sum, after[s + 1]);
      if (s + 2 < count && skips(s + 2)) sum = log_sum(sum, after[s + 2]);
      after[s] = sum;
    }
  }
  void start(double* now) const {
    std::fill_n(now, count, -kInfinity);
    now[0] = 0;
  }
  double loss(const double* last) const { return -(count > 1 ? log_sum(last[count - 1], last[count - 2]) : last[0]); }
};

// The examples of a batch; all that users may have got wrong is noticed here.
template <class T>
class Batch {
 public:
  Batch(const CtcLoss& a, const TensorHandle& x, const TensorHandle& targets, const TensorHandle& input_lengths,
      const TensorHandle& target_lengths)
      : blank_(a.blank),
        x_(plain(x, dtype_of<T>)),
        targets_(converted(targets, DType::int64)),  // copies: no other thread writes what was checked
        steps_(converted(input_lengths, DType::int64)),
        lengths_(converted(target_lengths, DType::int64)) {
    const int64_t most = targets.shape().back(), in_a_row = targets.rank() == 1;
    int64_t first = 0;
    for (int64_t n = 0; n < size(); ++n) {
      const int64_t steps = steps_.data<int64_t>()[n], length = lengths_.data<int64_t>()[n];
      require<ValueError>(steps >= 0 && steps <= x.shape()[0], "expected input_lengths up to {}: got {}", x.shape()[0], steps);
      firsts_.push_back(in_a_row ? first : n * most);
      require<ValueError>(length >= 0 && length <= (in_a_row ? most - first : most), "expected target_lengths that fit {}: got {}",
          targets.shape(), length);
      first += length;
    }
    for (int64_t n = 0; n < size(); ++n)
      for (int64_t i = 0; i < lengths_.data<int64_t>()[n]; ++i) {
        const int64_t label = targets_.data<int64_t>()[firsts_[size_t(n)] + i];
        require<IndexError>(label >= 0 && label < classes(), "label out of range: got {}, expected less than {}", label, classes());
      }
  }
  int64_t size() const { return x_.shape()[1]; }
  int64_t classes() const { return x_.shape()[2]; }
  Places<T> places(int64_t n) const {
    const int64_t length = lengths_.data<int64_t>()[n];
    Places<T> p{x_.data<T>() + n * classes(), size() * classes(), steps_.data<int64_t>()[n], 2 * length + 1, {}};
    p.labels.assign(size_t(p.count), blank_);
    for (int64_t i = 0; i < length; ++i) p.labels[size_t(2 * i + 1)] = targets_.data<int64_t>()[firsts_[size_t(n)] + i];
    return p;
  }

 private:
  int64_t blank_;
  TensorHandle x_, targets_, steps_, lengths_;
  std::vector<int64_t> firsts_;
};

template <class T>
void ctc_loss(const CtcLoss& a, Inputs in, Outputs out) {
  const Batch<T> batch(a, *in[0], *in[1], *in[2], *in[3]);
  const PlainTarget losses(out[0], dtype_of<T>);
  parallel_for(batch.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const Places<T> p = batch.places(n);
      std::vector<double> now(size_t(p.count)), next(size_t(p.count));
      p.start(now.data());
      InterruptTicker ticker;
      for (int64_t t = 0; t < p.steps; ++t, now.swap(next)) {
        ticker.work(kPlaceWork * p.count);
        p.forward(t, now.data(), next.data());
      }
      const double loss = p.loss(now.data());
      losses.template data<T>()[n] = T(loss == kInfinity && a.zero_infinity ? 0 : loss);
    }
  });
  losses.finish();
}

template <class T>
void ctc_loss_backward(const CtcLoss& a, Inputs in, Outputs out) {
  const TensorHandle dy = plain(*in[0], dtype_of<T>);
  const Batch<T> batch(a, *in[1], *in[2], *in[3], *in[4]);
  const PlainTarget dx(out[0], dtype_of<T>);
  std::fill_n(dx.template data<T>(), out[0].numel(), T(0));
  parallel_for(batch.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const Places<T> p = batch.places(n);
      std::vector<double> before(size_t((p.steps + 1) * p.count));
      p.start(before.data());
      InterruptTicker ticker;
      for (int64_t t = 0; t < p.steps; ++t) {
        ticker.work(kPlaceWork * p.count);
        p.forward(t, &before[size_t(t * p.count)], &before[size_t((t + 1) * p.count)]);
      }
      const double loss = p.loss(&before[size_t(p.steps * p.count)]), scale = double(dy.data<T>()[n]);
      T* to = dx.template data<T>() + n * batch.classes();
      if (loss == kInfinity) {
        if (a.zero_infinity) continue;
        for (int64_t t = 0; t < p.steps; ++t) std::fill_n(to + t * p.step, batch.classes(), std::numeric_limits<T>::quiet_NaN());
        continue;
      }
      std::vector<double> after(size_t(p.count), -kInfinity), shares(size_t(batch.classes()));
      for (int64_t s = std::max<int64_t>(p.count - 2, 0); s < p.count; ++s) after[size_t(s)] = 0;
      for (int64_t t = p.steps - 1; t >= 0; --t) {
        ticker.work(2 * kPlaceWork * p.count);
        std::fill(shares.begin(), shares.end(), 0.0);
        const double* here = &before[size_t((t + 1) * p.count)];
        for (int64_t s = 0; s < p.count; ++s) shares[size_t(p.labels[size_t(s)])] += std::exp(here[s] + after[size_t(s)] + loss);
        for (int64_t c = 0; c < batch.classes(); ++c) to[t * p.step + c] = T(-scale * shares[size_t(c)]);
        p.backward(t, after.data());
      }
    }
  });
  dx.finish();
}

}  // namespace

void register_ctc_loss(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<ctc_loss<float>>(op::_ctc_loss, single);
  kernels.add<ctc_loss<double>>(op::_ctc_loss, DType::float64);
  kernels.add<ctc_loss_backward<float>>(op::_ctc_loss_backward, single);
  kernels.add<ctc_loss_backward<double>>(op::_ctc_loss_backward, DType::float64);
}

}  // namespace pyburn::cpu
