// Normalisation by rows (layers, groups, instances) and by channels (batches), and the gradients. Statistics are kept in float32.
#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/backends/wgpu/workgroup.h"
#include "pyburn/ops/batch_norm.h"
#include "pyburn/ops/normalisation.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

// Examples of channels of `inner` elements each.
struct Channels {
  int64_t examples, channels, inner;

  void numbers(Shader& s) const { s.number("examples", examples), s.number("channels", channels), s.number("inner", inner); }
  // Neighbouring lanes read neighbouring elements: of one channel, or of as many channels as fill a line of memory.
  int columns() const { return inner > 1 ? 1 : 16; }

  // A workgroup for `columns` channels. `begin` and `end` run for every lane and may call total(lane, v); `loop` runs for the elements `e`
  // of channel `c` that belong to a lane.
  struct Pass {
    std::string begin, loop, end;
  };
  void run(Shader& s, std::initializer_list<Pass> passes) const {
    constexpr int kSize = 256;
    declare_total(s, kSize, columns());
    std::string code = format("let c = group * {}u + lane % {}u;\nlet worker = lane / {}u;\n", columns(), columns(), columns());
    for (const Pass& pass : passes)
      code += pass.begin +
              format(
                  "if (c < p.channels) { for (var j = worker; j < p.examples * p.inner; j += {}u) {\n"
                  "let e = (j / p.inner * p.channels + c) * p.inner + j % p.inner;\n{}\n} }\n",
                  kSize / columns(), pass.loop) +
              pass.end;
    s.run_groups(divide_up(channels, columns()), kSize, code);
  }
};

// y, or float32 memory for what becomes it.
TensorHandle in_float32(const Call& c, const TensorHandle& y) {
  return y.dtype() == DType::float32 ? y : scratch(c, DType::float32, y.shape());
}
void deliver(const Call& c, const TensorHandle& x, const TensorHandle& y) {
  if (!x.is_same(y)) copy(c.gpu, x, y);
}
void optional_input(Shader& s, const char* name, const TensorHandle& t) {
  if (t.defined()) s.input(name, t);
}
const char* if_defined(const TensorHandle& t, const char* code) { return t.defined() ? code : ""; }

// --- rows ---

struct Rows {
  int64_t rows, length;
  Channels by_channel;

  Rows(const NormaliseRows& a, const TensorHandle& x, int64_t rows)
      : rows(rows), length(x.numel() / rows), by_channel{rows / a.groups, Checked(length) * a.groups / a.inner, a.inner} {}
  void numbers(Shader& s, const NormaliseRows& a) const {
    s.number("length", length), s.number("groups", a.groups), s.number("per_row", length / a.inner);
    s.number("row_inner", a.inner);
    s.number("share", 1 / float(length));
  }
};
// Of element j of row `group`.
constexpr const char* kChannel = "let c = group % p.groups * p.per_row + j / p.row_inner;\n";

void normalise_rows(const Call& c) {
  const NormaliseRows& a = c.attrs<NormaliseRows>();
  const TensorHandle &x = *c.in[0], &weight = *c.in[1], &bias = *c.in[2];
  const Rows r(a, x, a.rows);
  const int size = lanes_for(r.length);
  Shader s(c.gpu);
  s.input("x", x);
  optional_input(s, "weight", weight), optional_input(s, "bias", bias);
  s.output("y", c.out[0]), s.output("mean", c.out[1]), s.output("rstd", c.out[2]);
  r.numbers(s, a);
  s.number("eps", float(a.eps));
  declare_total(s, size);
  const std::string each = format("for (var j = lane; j < p.length; j += {}u) {", size);
  std::string code = "let row = group * p.length; var mean = 0.0; var sum = 0.0;\n";
  if (a.centred) code += each + " sum += x_get(row + j); }\nmean = total(lane, sum) * p.share; sum = 0.0;\n";
  code += each + " let d = x_get(row + j) - mean; sum += d * d; }\nlet rstd = 1.0 / sqrt(total(lane, sum) * p.share + p.eps);\n";
  code += each + kChannel + "var v = (x_get(row + j) - mean) * rstd;\n" + if_defined(weight, "v = v * weight_get(c);\n") +
          if_defined(bias, "v = v + bias_get(c);\n") + "y_set(row + j, v); }\n";
  s.run_groups(r.rows, size, code + "if (lane == 0u) { mean_set(group, mean); rstd_set(group, rstd); }");
}

void normalise_rows_backward(const Call& c) {
  const NormaliseRows& a = c.attrs<NormaliseRows>();
  const TensorHandle &dy = *c.in[0], &x = *c.in[1], &mean = *c.in[2], &rstd = *c.in[3], &weight = *c.in[4];
  const Rows r(a, x, mean.numel());
  const auto inputs = [&](Shader& s) {
    s.input("dy", dy), s.input("x", x), s.input("mean", mean), s.input("rstd", rstd);
    r.numbers(s, a);
  };
  {
    const int size = lanes_for(r.length);
    Shader s(c.gpu);
    inputs(s);
    optional_input(s, "weight", weight);
    s.output("dx", c.out[0]);
    declare_total(s, size);
    const std::string each = format("for (var j = lane; j < p.length; j += {}u) {", size) + kChannel +
                             "let normal = (x_get(row + j) - mean) * rstd; let g = dy_get(row + j)" +
                             if_defined(weight, " * weight_get(c)") + ";\n";
    s.run_groups(r.rows, size,
        "let row = group * p.length; let mean = mean_get(group); let rstd = rstd_get(group);\nvar plain = 0.0; var along = 0.0;\n" + each +
            "plain += g; along += g * normal; }\nlet m = " + (a.centred ? "total(lane, plain) * p.share" : "0.0") +
            ";\nlet n = total(lane, along) * p.share;\n" + each + "dx_set(row + j, (g - normal * n - m) * rstd); }");
  }
  Shader s(c.gpu);
  inputs(s);
  r.by_channel.numbers(s);
  s.output("dweight", c.out[1]), s.output("dbias", c.out[2]);
  r.by_channel.run(s, {{"var plain = 0.0; var along = 0.0;\n",
                          "let row = e / p.length; let g = dy_get(e); plain += g; along += g * (x_get(e) - mean_get(row)) * rstd_get(row);",
                          "plain = total(lane, plain); along = total(lane, along);\n"
                          "if (worker == 0u && c < p.channels) { dbias_set(c, plain); dweight_set(c, along); }"}});
}

// --- batches ---

Channels channels_of(const TensorHandle& x) {
  const int64_t examples = x.shape()[0], channels = x.shape()[1];
  return {examples, channels, x.numel() / (Checked(examples) * channels)};
}

void normalise_batch(const Call& c) {
  const TensorHandle &x = *c.in[0], &weight = *c.in[1], &bias = *c.in[2];
  const Channels by(channels_of(x));
  const TensorHandle mean = in_float32(c, c.out[1]), variance = in_float32(c, c.out[2]);
  {
    Shader s(c.gpu);
    s.input("x", x), s.output("mean", mean), s.output("variance", variance);
    by.numbers(s);
    s.number("share", 1 / (float(by.examples) * float(by.inner)));
    by.run(
        s, {{"var sum = 0.0;\n", "sum += x_get(e);", "let mean = total(lane, sum) * p.share;\n"},
               {"sum = 0.0;\n", "let d = x_get(e) - mean; sum += d * d;",
                   "sum = total(lane, sum) * p.share;\nif (worker == 0u && c < p.channels) { mean_set(c, mean); variance_set(c, sum); }"}});
  }
  Shader s(c.gpu);
  s.input("x", x), s.input("mean", mean), s.input("variance", variance);
  optional_input(s, "weight", weight), optional_input(s, "bias", bias);
  s.output("y", c.out[0]);
  by.numbers(s);
  s.number("eps", float(c.attrs<NormaliseBatch>().eps));
  s.run_each(
      x.numel(), std::string("let c = i / p.inner % p.channels; var v = (x_get(i) - mean_get(c)) / sqrt(variance_get(c) + p.eps);\n") +
                     if_defined(weight, "v = v * weight_get(c);\n") + if_defined(bias, "v = v + bias_get(c);\n") + "y_set(i, v);");
  deliver(c, mean, c.out[1]), deliver(c, variance, c.out[2]);
}

void normalise_batch_backward(const Call& c) {
  const TensorHandle &dy = *c.in[0], &x = *c.in[1], &mean = *c.in[2], &variance = *c.in[3], &weight = *c.in[4];
  const Channels by(channels_of(x));
  const TensorHandle dweight = in_float32(c, c.out[1]), dbias = in_float32(c, c.out[2]);
  const auto inputs = [&](Shader& s) {
    s.input("dy", dy), s.input("x", x), s.input("mean", mean), s.input("variance", variance);
    by.numbers(s);
    s.number("eps", float(c.attrs<NormaliseBatch>().eps));
  };
  {
    Shader s(c.gpu);
    inputs(s);
    s.output("dweight", dweight), s.output("dbias", dbias);
    by.run(s, {{"var plain = 0.0; var along = 0.0; var mean = 0.0; if (c < p.channels) { mean = mean_get(c); }\n",
                  "let g = dy_get(e); plain += g; along += g * (x_get(e) - mean);",
                  "plain = total(lane, plain); along = total(lane, along);\nif (worker == 0u && c < p.channels) { dbias_set(c, plain); "
                  "dweight_set(c, along / sqrt(variance_get(c) + p.eps)); }"}});
  }
  Shader s(c.gpu);
  inputs(s);
  optional_input(s, "weight", weight);
  s.input("dweight", dweight), s.input("dbias", dbias), s.output("dx", c.out[0]);
  s.number("share", 1 / (float(by.examples) * float(by.inner)));
  s.run_each(x.numel(), std::string("let c = i / p.inner % p.channels; let rstd = 1.0 / sqrt(variance_get(c) + p.eps);\n"
                                    "let normal = (x_get(i) - mean_get(c)) * rstd;\n"
                                    "dx_set(i, (dy_get(i) - (dbias_get(c) + normal * dweight_get(c)) * p.share) * rstd") +
                            if_defined(weight, " * weight_get(c)") + ");");
  deliver(c, dweight, c.out[1]), deliver(c, dbias, c.out[2]);
}

}  // namespace

void register_norm(KernelTable& kernels) {
  kernels.add(op::normalise_rows, normalise_rows, nullptr, kFloats);
  kernels.add(op::normalise_rows_backward, normalise_rows_backward, nullptr, kFloats);
  kernels.add(op::normalise_batch, normalise_batch, nullptr, kFloats);
  kernels.add(op::normalise_batch_backward, normalise_batch_backward, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
