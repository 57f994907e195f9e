#include "device_run.h"

#include <cmath>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/support/error.h"

namespace pyburn::fuzz {
namespace {

Dims dims_of(const std::vector<int64_t>& list) {
  Dims d;
  for (int64_t v : list) d.push_back(v);
  return d;
}

template <class T>
TensorHandle uploaded(const std::vector<double>& values, const Dims& shape, DType dtype, Device& device) {
  std::vector<T> host(values.begin(), values.end());
  const TensorHandle t = make_tensor(device, dtype, contiguous_layout(shape), device.backend().allocate(dtype, int64_t(host.size())));
  device.backend().upload({host.data(), t.meta()}, t);
  return t;
}
TensorHandle from_values(const std::vector<double>& values, const Dims& shape, DType dtype, Device& device) {
  if (dtype == DType::float64) return uploaded<double>(values, shape, dtype, device);
  return dtype == DType::float32 ? uploaded<float>(values, shape, dtype, device) : uploaded<int64_t>(values, shape, dtype, device);
}

template <class T>
std::vector<double> downloaded(const TensorHandle& t) {
  std::vector<T> host(size_t(t.numel()));
  t.device().backend().download(t, {host.data(), t.meta()});
  return {host.begin(), host.end()};
}
std::vector<double> values_of(const TensorHandle& t) {
  if (t.dtype() == DType::float64) return downloaded<double>(t);
  return t.dtype() == DType::float32 ? downloaded<float>(t) : downloaded<int64_t>(t);
}

Scalar scalar(double v) { return v == std::trunc(v) ? Scalar(int64_t(v)) : Scalar(v); }

class Run {
 public:
  explicit Run(Device& device) : device_(device) {}

  Outcome step(const Instruction& i) {
    return outcome_of([&] {
      const autograd::GradMode mode(!i.no_grad);
      execute(i);
    });
  }
  Outcome backward() {
    Tensors roots;
    Grads gradients;
    for (const auto& [name, t] : tensors) {
      if (!autograd::wants_gradient(t)) continue;
      roots.push_back(t);
      gradients.push_back(from_values(root_gradient(t.numel()), t.shape(), t.dtype(), device_));
    }
    return outcome_of([&] { autograd::backward(roots, gradients, false, false); });
  }

  std::map<int, TensorHandle> tensors;
  std::map<int, std::vector<double>> readings;
  std::string error;  // of the last step

 private:
  template <class Fn>
  Outcome outcome_of(Fn fn) {
    try {
      fn();
      return Outcome::ok;
    } catch (const GradientError& e) {
      error = e.what();
      return Outcome::gradient_error;
    } catch (const DTypeError& e) {
      error = e.what();
      return Outcome::dtype_error;
    } catch (const ShapeError& e) {
      error = e.what();
      return Outcome::shape_error;
    } catch (const std::exception& e) {
      error = e.what();
      return Outcome::other_error;
    }
  }

  void execute(const Instruction& i) {
    const TensorHandle a = i.a >= 0 ? tensors.at(i.a) : TensorHandle(), b = i.b >= 0 ? tensors.at(i.b) : TensorHandle();
    const Dims dims = dims_of(i.dims);
    const Scalar number = scalar(i.number);
    pyburn::Generator generator{uint64_t(i.op == Op::random || i.op == Op::uniform_ ? i.number : 0)};
    switch (i.op) {
      case Op::fresh: {
        std::vector<double> values;
        for (int64_t k = 0; k < Shape(dims).numel(); ++k)
          values.push_back(rounded(0.25 * double((k * 7 + int64_t(i.number)) % 17 - 8), i.dtype));
        tensors[i.out] = from_values(values, dims, i.dtype, device_);
        return autograd::set_requires_grad(tensors[i.out], i.flag);
      }
      case Op::random:
        tensors[i.out] = rand(dims, i.dtype, &device_, &generator, i.flag);
        return;
      case Op::view:
        tensors[i.out] = view(a, dims);
        return;
      case Op::reshape:
        tensors[i.out] = reshape(a, dims);
        return;
      case Op::expand:
        tensors[i.out] = expand(a, dims);
        return;
      case Op::permute:
        tensors[i.out] = permute(a, dims);
        return;
      case Op::slice:
        tensors[i.out] = slice(a, dims[0], dims[1], dims[2], dims[3]);
        return;
      case Op::select:
        tensors[i.out] = select(a, dims[0], dims[1]);
        return;
      case Op::unsqueeze:
        tensors[i.out] = unsqueeze(a, dims[0]);
        return;
      case Op::detach:
        tensors[i.out] = detach(a);
        return;
      case Op::clone:
        tensors[i.out] = clone(a);
        return;
      case Op::cast:
        tensors[i.out] = cast(a, i.dtype);
        return;
      case Op::add:
        tensors[i.out] = add(a, b, number);
        return;
      case Op::mul:
        tensors[i.out] = mul(a, b);
        return;
      case Op::add_number:
        tensors[i.out] = add(a, number);
        return;
      case Op::mul_number:
        tensors[i.out] = mul(a, number);
        return;
      case Op::exp:
        tensors[i.out] = exp(a);
        return;
      case Op::matmul:
        tensors[i.out] = matmul(a, b);
        return;
      case Op::nonzero:
        tensors[i.out] = nonzero(a);
        return;
      case Op::sum:
        tensors[i.out] = dims.empty() ? sum(a, {}, i.flag) : sum(a, dims, i.flag);
        return;
      case Op::copy_:
        return copy_into(a, b);
      case Op::add_:
        Tensor(a).add_(b);
        return;
      case Op::mul_:
        Tensor(a).mul_(b);
        return;
      case Op::add_number_:
        Tensor(a).add_(number);
        return;
      case Op::mul_number_:
        Tensor(a).mul_(number);
        return;
      case Op::exp_:
        Tensor(a).exp_();
        return;
      case Op::fill_:
        fill_(a, number);
        return;
      case Op::uniform_:
        uniform_(a, 0, 1, &generator);
        return;
      case Op::data_mul_:
        Tensor(autograd::data_of(a)).mul_(number);
        return;
      case Op::data_copy_:
        return copy_into(autograd::data_of(a), b);
      case Op::read:
        readings[i.out] = values_of(a);
        return;
      case Op::drop:
        tensors.erase(i.a);
        return;
    }
  }

  Device& device_;
};

std::string difference(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  if (got.size() != expected.size()) return format("got {} elements, expected {}", got.size(), expected.size());
  double scale = 1;
  for (double v : expected) scale = std::max(scale, std::abs(v));
  for (size_t k = 0; k < got.size(); ++k)
    if (!(std::abs(got[k] - expected[k]) <= tolerance * scale) && !(std::isnan(got[k]) && std::isnan(expected[k])))
      return format("element {}: got {}, expected {}", k, got[k], expected[k]);
  return {};
}

// Runs both and compares as it goes: how each step ends, then values, then gradients.
class Comparison {
 public:
  explicit Comparison(Device& device) : run_(device) {}

  std::string all(const Program& program) {
    for (const Instruction& i : program) {
      const Outcome expected = reference_.step(i);
      if (expected == Outcome::skipped) continue;
      const Outcome got = run_.step(i);
      if (got != expected) return different_outcome(name_of(i.op), got, expected);
    }
    tolerance_ = reference_.uses_float32() ? 1e-3 : 1e-8;
    if (std::string d = values(); !d.empty()) return d;
    const Outcome expected = reference_.backward(), got = run_.backward();
    if (got != expected) return different_outcome("backward", got, expected);
    return expected == Outcome::ok ? gradients() : std::string();
  }

 private:
  std::string different_outcome(const char* what, Outcome got, Outcome expected) const {
    return format("{}: got {} ({}), expected {}", what, name_of(got), got == Outcome::ok ? "" : run_.error.c_str(), name_of(expected));
  }
  std::string values() const {
    for (const auto& [name, values] : reference_.readings())
      if (std::string d = difference(run_.readings.at(name), values, tolerance_); !d.empty()) return format("reading {}: {}", name, d);
    for (const auto& [name, x] : reference_.variables()) {
      const TensorHandle& t = run_.tensors.at(name);
      if (t.dtype() != x.dtype()) return format("tensor {}: got {}, expected {}", name, t.dtype(), x.dtype());
      if (!(t.shape() == dims_of(x.shape))) return format("tensor {}: got {}, expected {}", name, t.shape(), dims_of(x.shape));
      if (std::string d = difference(values_of(t), x.values(), tolerance_); !d.empty()) return format("tensor {}: {}", name, d);
      if (autograd::wants_gradient(t) != x.wants()) return format("tensor {}: requires_grad is {}", name, !x.wants());
    }
    return {};
  }
  std::string gradients() const {
    for (const auto& [name, x] : reference_.variables()) {
      if (x.view || !x.base->wants || !x.base->leaf) continue;
      const TensorHandle g = autograd::grad_of(run_.tensors.at(name));
      const std::vector<double> got = g.defined() ? values_of(g) : std::vector<double>(size_t(x.numel()), 0.0);
      if (std::string d = difference(got, reference_.gradient(x), tolerance_); !d.empty())
        return format("gradient of tensor {}: {}", name, d);
    }
    return {};
  }

  Reference reference_;
  Run run_;
  double tolerance_ = 0;
};

}  // namespace

std::string compare(const Program& program, Device& device) { return Comparison(device).all(program); }

Program minimised(Program program, Device& device) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t k = program.size(); k-- > 0;) {
      Program shorter = program;
      shorter.erase(shorter.begin() + int64_t(k));
      if (compare(shorter, device).empty()) continue;
      program = std::move(shorter);
      smaller = true;
    }
  }
  return program;
}

}  // namespace pyburn::fuzz
