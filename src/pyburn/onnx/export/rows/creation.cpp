// Tensors made from numbers alone.
#include "pyburn/onnx/element_type.h"
#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/fill.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/random.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::onnx {
namespace {

void write_full(const ExportCall& c) {
  const Full& a = c.as<Full>();
  const std::string value = c.writer.number(a.value, a.dtype);
  if (a.size.rank() == 0) return c.make("Identity", {value});
  c.make("Expand", {value, c.writer.integers_of(c.node, {a.size.begin(), a.size.end()}, 0)});
}

// The count is the slot behind start and step, where these are integers.
void write_arange(const ExportCall& c) {
  const Arange& a = c.as<Arange>();
  if (c.node.patches.empty()) {
    const Scalar end = a.step.is_floating() || a.start.is_floating() ? Scalar(a.start.to_double() + double(a.count) * a.step.to_double())
                                                                     : Scalar(a.start.to_int() + a.count * a.step.to_int());
    return c.make("Identity", {c.writer.constant(fn::arange(a.start, end, a.step, a.dtype, &host_device()), "range")});
  }
  if (a.start.is_floating() || a.step.is_floating()) c.refuse("a range of floating-point numbers whose length depends on free extents");
  const std::string scalar = c.integers(std::vector<int64_t>{0});
  const auto integer = [&](int64_t value, int64_t slot) {
    return c.add("Squeeze", {c.writer.integers_of(c.node, {&value, 1}, slot), scalar});
  };
  const std::string start = integer(a.start.to_int(), 0), step = integer(a.step.to_int(), 1), count = integer(a.count, 2);
  const std::string range = c.add("Range", {start, c.add("Add", {start, c.add("Mul", {count, step})}), step});
  c.writer.bind(c.node.out[0], c.cast(range, DType::int64, a.dtype));
}
void write_linspace(const ExportCall& c) {
  const Linspace& a = c.as<Linspace>();
  if (!c.node.patches.empty()) c.refuse("its length depends on free extents");
  c.make("Identity", {c.writer.constant(fn::linspace(a.start, a.end, a.steps, a.dtype, &host_device()), "linspace")});
}

// Other numbers than pyburn's: ONNX does not say how they are drawn.
void write_random(const ExportCall& c) {
  const Random& a = c.as<Random>();
  if (!c.node.patches.empty()) c.refuse("its shape depends on free extents");
  Attributes attributes{ints("shape", a.size), {"dtype", int64_t(element_type_of(a.dtype))}};
  if (a.draw == Draw::uniform) {
    attributes.insert(attributes.end(), {{"low", a.a}, {"high", a.b}});
    return c.make("RandomUniform", {}, attributes);
  }
  if (a.draw == Draw::normal) {
    attributes.insert(attributes.end(), {{"mean", a.a}, {"scale", a.b}});
    return c.make("RandomNormal", {}, attributes);
  }
  c.refuse("only uniform and normal random numbers have a counterpart");
}

constexpr ExportRow kRows[] = {
    {"full", write_full},
    {"arange", write_arange},
    {"linspace", write_linspace},
    {"random", write_random},
};

}  // namespace

ExportRows creation_rows() { return kRows; }

}  // namespace pyburn::onnx
