// Losses as layers. reduction is 'mean', 'sum' or 'none'.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

constexpr LayerText silent{.printed = false};  // losses print no options

// ---- of two tensors of the same shape

struct ReductionOption {
  std::string reduction = "mean";
  PB_FIELDS(reduction)
  static constexpr LayerText text = silent;
};
struct L1Function : ReductionOption {
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct MSEFunction : ReductionOption {
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct SoftMarginFunction : ReductionOption {
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct SmoothL1Function {
  std::string reduction = "mean";
  Scalar beta = 1.0;
  PB_FIELDS(reduction, beta)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct HuberFunction {
  std::string reduction = "mean";
  Scalar delta = 1.0;
  PB_FIELDS(reduction, delta)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct KLDivFunction {
  std::string reduction = "mean";  // 'batchmean' too
  bool log_target = false;
  PB_FIELDS(reduction, log_target)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct PoissonNLLFunction {
  bool log_input = true, full = false;
  Scalar eps = 1e-8;
  std::string reduction = "mean";
  PB_FIELDS(log_input, full, eps, reduction)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct HingeEmbeddingFunction {
  Scalar margin = 1.0;
  std::string reduction = "mean";
  PB_FIELDS(margin, reduction)
  static constexpr LayerText text = silent;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};
struct LpFunction {  // Burn's: |input - target| to the power of p
  Scalar p = 2.0;
  std::string reduction = "mean";
  PB_FIELDS(p, reduction)
  static constexpr LayerText text{.required = 1, .printed = false};
  void complete() const;
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target) const;
};

using L1Loss = FunctionLayer<"L1Loss", L1Function>;
using MSELoss = FunctionLayer<"MSELoss", MSEFunction>;
using SoftMarginLoss = FunctionLayer<"SoftMarginLoss", SoftMarginFunction>;
using SmoothL1Loss = FunctionLayer<"SmoothL1Loss", SmoothL1Function>;
using HuberLoss = FunctionLayer<"HuberLoss", HuberFunction>;
using KLDivLoss = FunctionLayer<"KLDivLoss", KLDivFunction>;
using PoissonNLLLoss = FunctionLayer<"PoissonNLLLoss", PoissonNLLFunction>;
using HingeEmbeddingLoss = FunctionLayer<"HingeEmbeddingLoss", HingeEmbeddingFunction>;
using LpLoss = FunctionLayer<"LpLoss", LpFunction>;

// ---- of three tensors

struct GaussianNLLFunction {
  bool full = false;
  Scalar eps = 1e-6;
  std::string reduction = "mean";
  PB_FIELDS(full, eps, reduction)
  static constexpr LayerText text{.keyword_only = "full, eps, reduction", .printed = false};
  TensorHandle operator()(const TensorHandle& input, const TensorHandle& target, const TensorHandle& var) const;
};
struct MarginOptions {
  Scalar margin = 0.0;
  std::string reduction = "mean";
  PB_FIELDS(margin, reduction)
  static constexpr LayerText text = silent;
};
struct MarginRankingFunction : MarginOptions {
  TensorHandle operator()(const TensorHandle& input1, const TensorHandle& input2, const TensorHandle& target) const;
};
struct CosineEmbeddingFunction : MarginOptions {
  TensorHandle operator()(const TensorHandle& input1, const TensorHandle& input2, const TensorHandle& target) const;
};
struct TripletMarginFunction {
  Scalar margin = 1.0, p = 2.0, eps = 1e-6;
  bool swap = false;
  std::string reduction = "mean";
  PB_FIELDS(margin, p, eps, swap, reduction)
  static constexpr LayerText text = silent;
  void complete() const;
  TensorHandle operator()(const TensorHandle& anchor, const TensorHandle& positive, const TensorHandle& negative) const;
};

using GaussianNLLLoss = FunctionLayer<"GaussianNLLLoss", GaussianNLLFunction>;
using MarginRankingLoss = FunctionLayer<"MarginRankingLoss", MarginRankingFunction>;
using CosineEmbeddingLoss = FunctionLayer<"CosineEmbeddingLoss", CosineEmbeddingFunction>;
using TripletMarginLoss = FunctionLayer<"TripletMarginLoss", TripletMarginFunction>;

}  // namespace pyburn::nn
