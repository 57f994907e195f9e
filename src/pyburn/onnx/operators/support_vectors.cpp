// Support-vector machines of ai.onnx.ml. A classifier of k classes is one machine for each pair of classes.
#include <algorithm>
#include <cmath>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/onnx/operators/trees.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/loss.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

constexpr int64_t kMostClasses = 256;  // 32,640 machines: tables of machines by classes stay below 100 MB

TensorHandle table(Call& c, const std::vector<double>& values, const Shape& shape) {
  return reals_on(c.device(), {values.begin(), values.end()}, shape);
}
TensorHandle rows_of(Call& c) {
  const TensorHandle x = c.input(0), y = x.dtype() == DType::float32 ? x : fn::cast(x, DType::float32);
  require(y.rank() == 1 || y.rank() == 2, "[svm] expected (N, F): got {}", y.shape());
  return y.rank() == 1 ? fn::unsqueeze(y, 0) : y;
}

// k(x, v) of rows x (N, F) and vectors v (V, F).
TensorHandle kernel(Call& c, const TensorHandle& x, const TensorHandle& v) {
  const std::string type = c.text("kernel_type", "LINEAR");
  const std::vector<double> given = c.reals("kernel_params");
  require<FormatError>(
      given.empty() || given.size() == 3, "[svm] expected kernel_params (gamma, coef0, degree): got {} numbers", int64_t(given.size()));
  const double gamma = given.empty() ? 0 : given[0], coef0 = given.empty() ? 0 : given[1], degree = given.empty() ? 0 : given[2];
  if (type == "RBF") {
    const TensorHandle distance = fn::cdist(x, v, 2.0, "donot_use_mm_for_euclid_dist");
    return fn::exp(distance * distance * -gamma);
  }
  const TensorHandle products = fn::matmul(x, fn::transpose(v, 0, 1));
  if (type == "LINEAR") return products;
  const TensorHandle scaled = products * gamma + coef0;
  if (type == "POLY") return fn::pow(scaled, degree);
  require<FormatError>(type == "SIGMOID", "[svm] no such kernel_type: got '{}'", type);
  return fn::tanh(scaled);
}

// The vectors of a node, (count, F).
TensorHandle vectors(Call& c, std::string_view name, int64_t count, int64_t features) {
  const std::vector<double> values = c.reals(name);
  require<FormatError>(count > 0 && int64_t(values.size()) == Checked(count) * features,
      "[svm] {} numbers of {} do not fit {} vectors of {} features", int64_t(values.size()), name, count, features);
  return table(c, values, {count, features});
}
std::vector<double> needed_reals(Call& c, std::string_view name, int64_t count) {
  std::vector<double> values = c.reals(name);
  require<FormatError>(int64_t(values.size()) >= count, "[svm] expected {} numbers of {}: got {}", count, name, int64_t(values.size()));
  values.resize(size_t(count));
  return values;
}

Results regressor(Call& c) {
  const TensorHandle x = rows_of(c);
  const int64_t features = x.shape()[1], supports = c.integer("n_supports", 0);
  const double rho = needed_reals(c, "rho", 1)[0];
  TensorHandle y;
  if (supports > 0) {
    const TensorHandle weights = vectors(c, "coefficients", 1, supports);
    y = fn::matmul(kernel(c, x, vectors(c, "support_vectors", supports, features)), fn::transpose(weights, 0, 1)) + rho;
  } else y = fn::matmul(x, fn::transpose(vectors(c, "coefficients", 1, features), 0, 1)) + rho;
  if (c.flag("one_class")) return fn::where(fn::gt(y, 0), fn::ones_like(y), -1.0);
  return transformed(y, c.text("post_transform", "NONE"));
}

// What the machine of each pair says: positive for the first class.
struct Pairs {
  std::vector<std::pair<int64_t, int64_t>> of;  // (0, 1), (0, 2), ..., (1, 2), ...
  TensorHandle scores;                          // (N, pairs)
};
Pairs pairs_of(Call& c, const TensorHandle& x, const Dims& per_class) {
  const int64_t classes = per_class.size();
  std::vector<int64_t> begin{0};
  for (const int64_t n : per_class) {
    require<FormatError>(n >= 0, "[svm] vectors_per_class must not be negative: got {}", per_class);
    begin.push_back(Checked(begin.back()) + n);
  }
  const int64_t count = begin.back();
  Pairs pairs;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) pairs.of.emplace_back(i, j);
  const auto machines = int64_t(pairs.of.size());
  // Row r of class i's vectors in the coefficients is for the other classes in order, without i itself.
  const std::vector<double> coefficients = needed_reals(c, "coefficients", Checked(classes - 1) * count);
  std::vector<double> weights(size_t(Checked(count) * machines), 0.0);
  for (int64_t p = 0; p < machines; ++p) {
    const auto [i, j] = pairs.of[size_t(p)];
    const auto place = [&](int64_t row, int64_t of_class) {
      for (int64_t k = begin[size_t(of_class)]; k < begin[size_t(of_class) + 1]; ++k)
        weights[size_t(k * machines + p)] = coefficients[size_t(row * count + k)];
    };
    place(j - 1, i);
    place(i, j);
  }
  const TensorHandle similar = kernel(c, x, vectors(c, "support_vectors", count, x.shape()[1]));
  pairs.scores = fn::matmul(similar, table(c, weights, {count, machines})) + table(c, needed_reals(c, "rho", machines), {machines});
  return pairs;
}

// The class that wins most pairs; the first of several.
TensorHandle winners(Call& c, const Pairs& pairs, int64_t classes) {
  const auto machines = int64_t(pairs.of.size());
  std::vector<double> first(size_t(Checked(machines) * classes), 0.0), second = first;
  for (int64_t p = 0; p < machines; ++p) {
    first[size_t(p * classes + pairs.of[size_t(p)].first)] = 1;
    second[size_t(p * classes + pairs.of[size_t(p)].second)] = 1;
  }
  const TensorHandle wins = fn::cast(fn::gt(pairs.scores, 0), DType::float32);
  const Shape shape{machines, classes};
  return fn::argmax(fn::matmul(wins, table(c, first, shape)) + fn::matmul(1.0 - wins, table(c, second, shape)), 1);
}

// The probabilities p of classes that fit those of pairs best (Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by
// Pairwise Coupling", the second method): the minimum of the sum of (r[j, i] p[i] - r[i, j] p[j])^2, coordinate by coordinate, with the
// stopping rule of libsvm, which trained the machines. `r` holds k rows of k numbers.
void couple(const double* r, int64_t k, float* result) {
  constexpr int kMostRounds = 100;
  std::vector<double> q(size_t(k * k), 0.0), p(size_t(k), 1.0 / double(k)), qp(static_cast<size_t>(k));
  const auto at = [k](int64_t i, int64_t j) { return size_t(i * k + j); };
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < k; ++j)
      if (i != j) q[at(i, i)] += r[at(j, i)] * r[at(j, i)], q[at(i, j)] = -r[at(j, i)] * r[at(i, j)];
  for (int round = 0; round < kMostRounds; ++round) {
    double energy = 0, error = 0;
    for (int64_t i = 0; i < k; ++i) {
      qp[size_t(i)] = 0;
      for (int64_t j = 0; j < k; ++j) qp[size_t(i)] += q[at(i, j)] * p[size_t(j)];
      energy += p[size_t(i)] * qp[size_t(i)];
    }
    for (const double v : qp) error = std::max(error, std::abs(v - energy));
    if (error < 0.005 / double(k)) break;
    for (int64_t i = 0; i < k; ++i) {
      const double step = (energy - qp[size_t(i)]) / q[at(i, i)], scale = 1 + step;
      p[size_t(i)] += step;
      energy = (energy + step * (step * q[at(i, i)] + 2 * qp[size_t(i)])) / (scale * scale);
      for (int64_t j = 0; j < k; ++j) {
        qp[size_t(j)] = (qp[size_t(j)] + step * q[at(i, j)]) / scale;
        p[size_t(j)] /= scale;
      }
    }
  }
  std::copy(p.begin(), p.end(), result);
}
TensorHandle probabilities(Call& c, const Pairs& pairs, int64_t classes) {
  const auto machines = int64_t(pairs.of.size());
  const std::vector<double> a = needed_reals(c, "prob_a", machines), b = needed_reals(c, "prob_b", machines);
  const int64_t rows = pairs.scores.shape()[0];
  std::vector<float> scores(size_t(Checked(rows) * machines)), made(size_t(Checked(rows) * classes));
  to_host(pairs.scores, {scores.data(), {pairs.scores.shape(), DType::float32}});
  std::vector<double> r(size_t(Checked(classes) * classes));
  for (int64_t n = 0; n < rows; ++n) {
    for (size_t p = 0; p < pairs.of.size(); ++p) {
      const auto [i, j] = pairs.of[p];
      const double sure = 1 / (1 + std::exp(double(scores[size_t(n) * size_t(machines) + p]) * a[p] + b[p]));
      r[size_t(i * classes + j)] = std::clamp(sure, 1e-7, 1 - 1e-7);
      r[size_t(j * classes + i)] = 1 - r[size_t(i * classes + j)];
    }
    couple(r.data(), classes, made.data() + n * classes);
  }
  return reals_on(c.device(), std::move(made), {rows, classes});
}

Results classifier(Call& c) {
  const TensorHandle x = rows_of(c);
  const int64_t classes = label_count(c, "classlabels_ints", "classlabels_strings");
  require<FormatError>(classes >= 2 && classes <= kMostClasses, "[svm] expected 2 to {} classes: got {}", kMostClasses, classes);
  const std::string how = c.text("post_transform", "NONE");
  const auto labels = [&](const TensorHandle& places) { return labels_at(c, places, "classlabels_ints", "classlabels_strings"); };
  const Dims per_class = c.integers("vectors_per_class", {});
  if (std::all_of(per_class.begin(), per_class.end(), [](int64_t n) { return n == 0; })) {  // a plane for each class
    const TensorHandle weights = vectors(c, "coefficients", classes, x.shape()[1]);
    const TensorHandle scores = fn::matmul(x, fn::transpose(weights, 0, 1)) + needed_reals(c, "rho", 1)[0];
    TensorHandle places = fn::argmax(scores, 1);
    if (classes == 2) {  // the second class, too, where the best score reaches what a single score would need
      const std::vector<double> all = c.reals("coefficients");
      const bool positive = std::all_of(all.begin(), all.end(), [](double v) { return v >= 0; });
      const TensorHandle best = fn::amax(scores, Dims{1});
      places = fn::where(positive ? fn::ge(best, 0.5) : fn::gt(best, 0), fn::ones_like(places), places);
    }
    return Values{labels(places), transformed(scores, how)};
  }
  require<FormatError>(per_class.size() == classes, "[svm] vectors_per_class names {} classes of {}", per_class.size(), classes);
  const Pairs pairs = pairs_of(c, x, per_class);
  const Value chosen = labels(winners(c, pairs, classes));
  if (c.has("prob_a")) return Values{chosen, transformed(probabilities(c, pairs, classes), how)};
  if (classes > 2) return Values{chosen, transformed(pairs.scores, how)};
  return Values{chosen, fn::cat({how == "NONE" ? -pairs.scores : 1.0 - pairs.scores, pairs.scores}, 1)};
}

constexpr Operator kRows[] = {
    {"ai.onnx.ml", "SVMRegressor", 1, regressor},
    {"ai.onnx.ml", "SVMClassifier", 1, classifier},
};

}  // namespace

std::span<const Operator> support_vector_operators() { return kRows; }

}  // namespace pyburn::onnx
