#include "pyburn/backends/wgpu/elementwise.h"

#include <algorithm>

#include "pyburn/ops/binary.h"
#include "pyburn/support/error.h"
#include "pyburn/support/insertion_sort.h"

namespace pyburn::wgpu {
namespace {

const OpInfo& row_of(const char* op) {
  const OpInfo* info = OpTable::global().find(op);
  require<ValueError>(info, "kernel for an unknown operation: got {}", op);
  return *info;
}

std::string argument_name(int64_t i) { return std::string(1, char('a' + i)); }

SmallVector<DType, 4> dtypes_of(Inputs in) {
  SmallVector<DType, 4> out;
  for (const TensorHandle* t : in) out.push_back(t->defined() ? t->dtype() : DType::float32);
  return out;
}

}  // namespace

Order::Order(const Layout& out) : plain_(out.is_contiguous()) {
  for (int i = 0; i < out.rank(); ++i) axes_.push_back(i);
  if (!plain_) insertion_sort(axes_, [&](int a, int b) { return out.strides[a] > out.strides[b]; });
}
TensorHandle Order::operator()(const TensorHandle& t) const {
  if (plain_) return t;
  Shape shape;
  Dims strides;
  for (int a : axes_) shape.push_back(t.shape()[a]), strides.push_back(t.strides()[a]);
  return relayout(t, shape, strides, t.layout().offset);
}

Element binary_operands(OpRef op, std::span<const DType> in, DType out, const char* code) {
  const Binary& a = op.as<Binary>();
  const Word type = word_of(in[0]);
  Element e{code ? code : "", word_of(out), {}};
  if (a.scalar == Side::left) return e.from_number(a.value, type).from_input(0, type);
  e.from_input(0, type);
  return a.scalar == Side::right ? e.from_number(a.value, type) : e.from_input(1, type);
}

Elements& Elements::table() {
  static auto* one = [] {
    auto* t = new Elements;
    add_unary_elements(*t);
    add_binary_elements(*t);
    add_cast_element(*t);
    return t;
  }();
  return *one;
}

void Elements::add_unary(const char* op, const Codes& codes) { rows_[&row_of(op)] = {codes, false, nullptr}; }
void Elements::add_binary(const char* op, const Codes& codes) { rows_[&row_of(op)] = {codes, true, nullptr}; }
void Elements::add(const char* op, ElementOf write) { rows_[&row_of(op)] = {{}, false, write}; }

Element Elements::find(OpRef op, std::span<const DType> in, DType out) const {
  const auto it = rows_.find(op.info);
  if (it == rows_.end()) return {};
  const Row& row = it->second;
  if (row.write) return row.write(op, in, out);
  const Word type = word_of(in[0]);
  const char* code = row.codes.of(type);
  if (!code) return {};
  if (row.binary) return binary_operands(op, in, out, code);
  return Element{code, word_of(out), {}}.from_input(0, type);
}

std::string Elements::function(const Element& e, const std::string& name) {
  std::string out = "fn " + name + "(";
  for (int64_t i = 0; i < e.arguments.size(); ++i) out += (i ? ", " : "") + argument_name(i) + ": " + type_name(e.arguments[i].type);
  return out + ") -> " + type_name(e.result) + " { return " + e.code + "; }\n";
}

bool accepts_elementwise(OpRef op, Inputs in, Outputs out) {
  return !Elements::table().find(op, dtypes_of(in), out[0].dtype()).code.empty();
}

void run_elementwise(const Call& c) {
  const Element e = Elements::table().find(c.op, dtypes_of(c.in), c.out[0].dtype());
  const Order ordered(c.out[0].layout());
  Shader s(c.gpu);
  s.output("y", ordered(c.out[0]));
  std::string call = "y_set(i, element(";
  for (int64_t i = 0; i < e.arguments.size(); ++i) {
    const Element::Argument& a = e.arguments[i];
    const std::string name = format("x{}", i);
    if (a.input >= 0) s.input(name.c_str(), ordered(*c.in[size_t(a.input)]));
    else s.number(name, a.type, a.number);
    call += (i ? ", " : "") + (a.input >= 0 ? name + "_get(i)" : Shader::value_of(name, a.type));
  }
  s.declare(Elements::function(e, "element"));
  s.run_each(c.out[0].numel(), call + "));");
}

void register_elementwise(KernelTable& kernels) {
  Elements::table().each([&](const OpInfo& op) { kernels.add(op, run_elementwise, accepts_elementwise); });
}

}  // namespace pyburn::wgpu
