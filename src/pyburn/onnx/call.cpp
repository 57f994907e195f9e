#include "pyburn/onnx/call.h"

#include "pyburn/onnx/interpreter.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

using Kind = AttributeDef::Kind;

bool reads(const PlanNode& node, size_t i) { return i < 32 && node.op->reads >> i & 1; }

// The elements as T, read where they are.
template <class T>
std::vector<T> elements(const TensorHandle& x, DType dtype) {
  TensorHandle plain = x;
  if (x.dtype() != dtype) {
    std::vector<std::byte> bytes = host_bytes(x);  // CaptureError where the values are not known
    const LevelScope level(host_device().leaf());
    plain = fn::cast(from_host(host_device(), {bytes.data(), x.meta()}), dtype);
  }
  std::vector<T> values(size_t(plain.numel()));
  to_host(plain, {values.data(), plain.meta()});
  return values;
}

}  // namespace

Call::Call(Interpreter& interpreter, const PlanNode& node, std::span<const Value> inputs)
    : interpreter_(interpreter), node_(node), inputs_(inputs), device_(&interpreter.device()) {
  bool has_host = false, has_others = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor() || reads(node, i)) continue;
    (inputs[i].is_on_host() ? has_host : has_others) = true;
  }
  on_host_ = has_host && !has_others && node.graphs.empty();
  if (on_host_) device_ = &host_device();
}

int64_t Call::opset() const { return node_.opset; }
bool Call::training() const { return interpreter_.training(); }
int Call::outputs() const { return int(node_.outputs.size()); }
bool Call::wants_output(int i) const { return i < outputs() && node_.outputs[size_t(i)] >= 0; }

const Value& Call::value(int i) const {
  require<FormatError>(has_input(i), "[onnx] input {} is missing", i);
  return inputs_[size_t(i)];
}

TensorHandle Call::as_tensor(const Value& v, int i) const {
  require<FormatError>(v.is_tensor(), "[onnx] input {} must be a tensor: got {}", i, to_text(v));
  if (v.device_copy().defined() && &v.device_copy().device() == device_) return v.device_copy();
  return moved_to(*device_, v.tensor());
}
TensorHandle Call::input(int i) const { return as_tensor(value(i), i); }
TensorHandle Call::optional_input(int i) const { return has_input(i) ? input(i) : TensorHandle(); }

Tensors Call::tensors_from(int first) const {
  Tensors tensors;
  for (int i = first; i < inputs(); ++i)
    if (has_input(i)) tensors.push_back(input(i));
  return tensors;
}

std::vector<int64_t> Call::read_integers(int i) const {
  const Value& v = value(i);
  require<FormatError>(v.is_tensor(), "[onnx] input {} must be a tensor: got {}", i, to_text(v));
  return elements<int64_t>(v.tensor(), DType::int64);
}
std::vector<double> Call::read_numbers(int i) const {
  const Value& v = value(i);
  require<FormatError>(v.is_tensor(), "[onnx] input {} must be a tensor: got {}", i, to_text(v));
  return elements<double>(v.tensor(), DType::float64);
}
int64_t Call::read_integer(int i) const {
  const std::vector<int64_t> values = read_integers(i);
  require<FormatError>(values.size() == 1, "[onnx] input {} must be one number: got {} of them", i, int64_t(values.size()));
  return values[0];
}
double Call::read_number(int i) const {
  const std::vector<double> values = read_numbers(i);
  require<FormatError>(values.size() == 1, "[onnx] input {} must be one number: got {} of them", i, int64_t(values.size()));
  return values[0];
}

const AttributeDef* Call::find(std::string_view name, Kind kind) const {
  const AttributeDef* a = node_.def->find(name);
  // Files of before attributes had a type leave it out.
  require<FormatError>(!a || kind == Kind::none || a->kind == kind || a->kind == Kind::none,
      "[onnx] attribute '{}' has another type than the standard says", name);
  return a;
}

int64_t Call::integer(std::string_view name) const {
  const AttributeDef* a = find(name, Kind::integer);
  require<FormatError>(a, "[onnx] attribute '{}' is missing", name);
  return a->i;
}
int64_t Call::integer(std::string_view name, int64_t otherwise) const {
  const AttributeDef* a = find(name, Kind::integer);
  return a ? a->i : otherwise;
}
double Call::real(std::string_view name) const {
  const AttributeDef* a = find(name, Kind::real);
  require<FormatError>(a, "[onnx] attribute '{}' is missing", name);
  return double(a->f);
}
double Call::real(std::string_view name, double otherwise) const {
  const AttributeDef* a = find(name, Kind::real);
  return a ? double(a->f) : otherwise;
}
std::string Call::text(std::string_view name) const {
  const AttributeDef* a = find(name, Kind::text);
  require<FormatError>(a, "[onnx] attribute '{}' is missing", name);
  return a->s;
}
std::string Call::text(std::string_view name, std::string_view otherwise) const {
  const AttributeDef* a = find(name, Kind::text);
  return a ? a->s : std::string(otherwise);
}
OptionalDims Call::integers(std::string_view name) const {
  const AttributeDef* a = find(name, Kind::integers);
  if (!a) return {};
  return Dims(std::span<const int64_t>(a->integers));
}
std::vector<double> Call::reals(std::string_view name) const {
  const AttributeDef* a = find(name, Kind::reals);
  return a ? std::vector<double>(a->reals.begin(), a->reals.end()) : std::vector<double>();
}
std::vector<std::string> Call::texts(std::string_view name) const {
  const AttributeDef* a = find(name, Kind::texts);
  return a ? a->texts : std::vector<std::string>();
}
const TensorDef* Call::tensor(std::string_view name) const {
  const AttributeDef* a = find(name, Kind::none);
  require<FormatError>(!a || a->tensors.size() == 1, "[onnx] attribute '{}' must be a tensor", name);
  return a ? &a->tensors[0] : nullptr;
}

OptionalDims Call::integers_of(std::string_view name, int i) const {
  if (has_input(i)) return Dims(std::span<const int64_t>(read_integers(i)));
  return integers(name);
}

Dims Call::dims_of(std::string_view name, int i) const {
  const OptionalDims found = integers_of(name, i);
  require<FormatError>(found.has_value(), "[onnx] input {} is missing", i);
  return *found;
}
Dims Call::dims(std::string_view name) const {
  const OptionalDims found = integers(name);
  require<FormatError>(found.has_value(), "[onnx] attribute '{}' is missing", name);
  return *found;
}

std::shared_ptr<const void> Call::find_prepared() const {
  const std::lock_guard lock(node_.prepared->mutex);
  return node_.prepared->made;
}
void Call::keep_prepared(const std::shared_ptr<const void>& made) const {
  const std::lock_guard lock(node_.prepared->mutex);
  node_.prepared->made = made;
}

Values Call::run_graph(std::string_view name, std::span<const Value> inputs) const {
  for (const auto& [attribute, graph] : node_.graphs)
    if (attribute == name) return interpreter_.run(*graph, inputs);
  fail<FormatError>("[onnx] attribute '{}' must be a graph", name);
}

}  // namespace pyburn::onnx
