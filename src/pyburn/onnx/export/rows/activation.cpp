// Activation functions.
#include "pyburn/ops/activation.h"

#include <numbers>

#include "pyburn/onnx/export/export_rows.h"

namespace pyburn::onnx {
namespace {

void write_same(const ExportCall& c) { c.make(c.type, {c.in(0)}); }

void write_gelu(const ExportCall& c) {
  const bool tanh = c.as<Gelu>().tanh;
  const std::string x = c.in(0);
  if (c.writer.opset() >= 20) return c.make("Gelu", {x}, {{"approximate", std::string(tanh ? "tanh" : "none")}});
  std::string inner;
  if (tanh) {
    const std::string cube = c.add("Mul", {c.add("Mul", {x, c.add("Mul", {x, x})}), c.number(0.044715)});
    inner = c.add("Tanh", {c.add("Mul", {c.add("Add", {x, cube}), c.number(std::numbers::sqrt2 * std::numbers::inv_sqrtpi)})});
  } else {
    inner = c.add("Erf", {c.add("Mul", {x, c.number(std::numbers::sqrt2 / 2)})});
  }
  c.make("Mul", {c.add("Mul", {x, c.number(0.5)}), c.add("Add", {inner, c.number(1.0)})});
}
void write_silu(const ExportCall& c) { c.make("Mul", {c.in(0), c.add("Sigmoid", {c.in(0)})}); }
void write_softplus(const ExportCall& c) {  // above the threshold both agree to the last digit
  const double beta = c.as<Softplus>().beta;
  if (beta == 1) return c.make("Softplus", {c.in(0)});
  c.make("Div", {c.add("Softplus", {c.add("Mul", {c.in(0), c.number(beta)})}), c.number(beta)});
}
void write_mish(const ExportCall& c) { c.make("Mul", {c.in(0), c.add("Tanh", {c.add("Softplus", {c.in(0)})})}); }
void write_logsigmoid(const ExportCall& c) { c.make("Neg", {c.add("Softplus", {c.add("Neg", {c.in(0)})})}); }
void write_hardtanh(const ExportCall& c) { c.make("Clip", {c.in(0), c.number(c.as<Hardtanh>().min), c.number(c.as<Hardtanh>().max)}); }
void write_hardsigmoid(const ExportCall& c) { c.make("HardSigmoid", {c.in(0)}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}); }
void write_leaky_relu(const ExportCall& c) { c.make("LeakyRelu", {c.in(0)}, {{"alpha", c.as<LeakyRelu>().negative_slope}}); }
void write_elu(const ExportCall& c) {
  const Elu& a = c.as<Elu>();
  if (a.input_scale == 1 && a.scale == 1) return c.make("Elu", {c.in(0)}, {{"alpha", a.alpha}});
  if (a.input_scale == 1) return c.make("Selu", {c.in(0)}, {{"alpha", a.alpha}, {"gamma", a.scale}});
  const std::string inner = c.add("Exp", {c.add("Mul", {c.in(0), c.number(a.input_scale)})});
  const std::string below = c.add("Mul", {c.add("Sub", {inner, c.number(1.0)}), c.number(a.alpha)});
  const std::string y = c.add("Where", {c.add("Greater", {c.in(0), c.number(0.0)}), c.in(0), below});
  c.make("Mul", {y, c.number(a.scale)});
}
void write_shrink(const ExportCall& c) {
  const double lambd = c.as<Shrink>().lambd;
  c.make("Shrink", {c.in(0)}, {{"lambd", lambd}, {"bias", std::string(c.type) == "soft" ? lambd : 0.0}});
}
void write_threshold(const ExportCall& c) {
  const Threshold& a = c.as<Threshold>();
  c.make("Where", {c.add("Greater", {c.in(0), c.number(a.threshold)}), c.in(0), c.number(a.value)});
}

constexpr ExportRow kRows[] = {
    {"relu", write_same, "Relu"},
    {"sigmoid", write_same, "Sigmoid"},
    {"gelu", write_gelu},
    {"silu", write_silu},
    {"mish", write_mish},
    {"softplus", write_softplus},
    {"logsigmoid", write_logsigmoid},
    {"hardtanh", write_hardtanh},
    {"hardswish", write_same, "HardSwish"},
    {"hardsigmoid", write_hardsigmoid},
    {"leaky_relu", write_leaky_relu},
    {"elu", write_elu},
    {"softshrink", write_shrink, "soft"},
    {"hardshrink", write_shrink, "hard"},
    {"threshold", write_threshold},
};

}  // namespace

ExportRows activation_rows() { return kRows; }

}  // namespace pyburn::onnx
