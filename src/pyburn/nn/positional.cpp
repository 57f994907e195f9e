#include "pyburn/nn/positional.h"

#include <cmath>

#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {
namespace {

// position * timescale ^ (-2 i / d_model) for each position and pair of features i.
TensorHandle angles(int64_t size, int64_t d_model, double timescale, const Placement& p) {
  require<ValueError>(size > 0 && d_model > 0 && d_model % 2 == 0, "d_model must be even and positive: got {}", d_model);
  const DType dtype = p.dtype.value_or(DType::float32);
  const TensorHandle position = fn::unsqueeze(fn::arange(0, size, 1, dtype, p.device), 1);
  const TensorHandle pair = fn::arange(0, d_model, 2, dtype, p.device);
  return position * fn::exp(pair * (-std::log(timescale) / double(d_model)));
}

TensorHandle interleaved(const TensorHandle& even, const TensorHandle& odd) { return fn::flatten(fn::stack({even, odd}, -1), -2, -1); }

}  // namespace

TensorHandle sinusoids(int64_t size, int64_t d_model, double max_timescale, const Placement& p) {
  const TensorHandle a = angles(size, d_model, max_timescale, p);
  return interleaved(fn::sin(a), fn::cos(a));
}

PositionalEncoding::PositionalEncoding(PositionalEncodingConfig config, Placement p) : Layer(std::move(config)) {
  register_buffer("sinusoids", sinusoids(config_.max_sequence_size, config_.d_model, config_.max_timescale, p), false);
}

TensorHandle PositionalEncoding::forward(const TensorHandle& x) {
  const TensorHandle& table = tensor("sinusoids");
  require<ValueError>(table.defined() && table.rank() == 2, "expected a matrix as 'sinusoids'");
  require(
      x.rank() >= 2 && x.shape()[x.rank() - 1] == table.shape()[1], "expected tokens (..., S, {}): got {}", table.shape()[1], x.shape());
  const int64_t length = x.shape()[x.rank() - 2];
  require(length <= table.shape()[0], "max_sequence_size({}) must be greater than or equal to the length of the sequence: got {}",
      table.shape()[0], length);
  return x + fn::slice(table, 0, 0, length);
}

RotaryEncoding::RotaryEncoding(RotaryEncodingConfig config, Placement p) : Layer(std::move(config)) {
  const TensorHandle a = angles(config_.max_sequence_length, config_.d_model, config_.theta, p);
  register_buffer("cosines", fn::cos(a), false);
  register_buffer("sines", fn::sin(a), false);
}

TensorHandle RotaryEncoding::forward_from(const TensorHandle& x, int64_t start) {
  const TensorHandle &cosines = tensor("cosines"), &sines = tensor("sines");
  require<ValueError>(cosines.defined() && sines.defined() && cosines.rank() == 2 && sines.shape() == cosines.shape(),
      "expected matrices of the same shape as 'cosines' and 'sines'");
  const int64_t features = 2 * cosines.shape()[1];  // fits: at most 2^61
  require(x.rank() >= 2 && x.shape()[x.rank() - 1] == features, "expected tokens (..., S, {}): got {}", features, x.shape());
  const int64_t length = x.shape()[x.rank() - 2];
  require(start >= 0 && start <= cosines.shape()[0] - length, "expected positions below max_sequence_length {}: got {} from {} on",
      cosines.shape()[0], length, start);
  const TensorHandle c = fn::slice(cosines, 0, start, start + length), s = fn::slice(sines, 0, start, start + length);
  const TensorHandle even = fn::slice(x, -1, 0, features, 2), odd = fn::slice(x, -1, 1, features, 2);
  return interleaved(even * c - odd * s, odd * c + even * s);
}

}  // namespace pyburn::nn
