#include "pyburn/onnx/model.h"

#include "pyburn/nn/parameter.h"
#include "pyburn/onnx/interpreter.h"
#include "pyburn/onnx/operators/low_bits.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/runtime/ordinary_pages.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

using Role = PlanConstant::Role;

// A module that has nothing but tensors of the file: what the dots in their names ask for.
class Tensors final : public nn::Module {
 public:
  PB_MODULE(Tensors)
  std::string extra_repr() const override {
    std::string text;
    for (const nn::Entry& e : entries())
      if (e.tensor.defined()) text += format("{}{}={}", text.empty() ? "" : ", ", e.name, e.tensor.shape());
    return text;
  }
};

// A map whose numbers have the dtype that the file declares: callers write 1 where it says float.
Value with_declared_values(const Map& map, const TypeDef& type) {
  const ElementType wanted = type.of ? type.of->element_type : ElementType::undefined;
  if (!map.values.is_tensor() || wanted == ElementType::undefined || wanted == ElementType::string)
    return make_ref<Map>(map.keys, map.values);
  const LevelScope plain(host_device().leaf());
  return make_ref<Map>(map.keys, Value::on_host(fn::cast(map.values.tensor(), dtype_of(int64_t(wanted)))));
}

}  // namespace

Model::Model(std::shared_ptr<const ModelDef> def, Device& device, Weights weights) : def_(std::move(def)), plan_(make_plan(def_)) {
  register_constants(device, weights);
}
Model::Model(const Model& other) : nn::Module(other), def_(other.def_), plan_(other.plan_), host_constants_(other.host_constants_) {}

Ref<Model> Model::without_tensors() const {  // copies on a device come along: they are never written
  Ref<Model> made = make_ref<Model>();
  made->def_ = def_, made->plan_ = plan_, made->host_constants_ = host_constants_;
  made->set_training(training());
  return made;
}

void Model::register_constants(Device& device, Weights weights) {
  constexpr uint64_t kLarge = 64 << 10;  // bytes: smaller tensors share their pages with others
  const OrdinaryPages pages;
  for (const PlanConstant& c : plan_->constants) {
    if (c.role == Role::host) {
      host_constants_.push_back(value_of(*c.def));
      continue;
    }
    host_constants_.emplace_back();
    nn::Module* owner = this;
    for (size_t i = 0; i + 1 < c.path.size(); ++i) {
      nn::Entry* entry = owner->find(c.path[i]);
      owner = entry ? entry->module.get() : owner->register_module<nn::Module>(c.path[i], make_ref<Tensors>()).get();
    }
    const bool large = c.def->bytes.size() >= kLarge;
    const TensorHandle t = tensor_of(*c.def, device, large && weights == Weights::in_file);
    if (large) c.def->bytes.release_pages();  // of a copy; what is not copied is read again when it is packed
    if (c.role == Role::parameter) owner->register_parameter(c.path.back(), nn::Parameter(t));
    else owner->register_buffer(c.path.back(), t, !c.from_node);
  }
}

TensorHandle Model::constant_tensor(const PlanConstant& c) {
  nn::Module* owner = this;
  for (size_t i = 0; i + 1 < c.path.size(); ++i) {
    nn::Entry* entry = owner->find(c.path[i]);
    require<ValueError>(entry && entry->module, "[onnx] the model has lost its module '{}' of '{}'", c.path[i], c.key);
    owner = entry->module.get();
  }
  const TensorHandle t = owner->tensor(c.path.back());
  require<ValueError>(t.defined(), "[onnx] the model has lost its tensor '{}'", c.key);
  return t;
}

// That of the parameters, else that of the inputs.
Device& Model::device_for(std::span<const Value> inputs) {
  for (const PlanConstant& c : plan_->constants)
    if (c.role != Role::host) return constant_tensor(c).device();
  for (const Value& v : inputs)
    if (v.is_tensor()) return v.tensor().device();
  return default_device();
}

Values Model::host_constants(Device& device) {
  const std::lock_guard lock(mutex_);
  if (copies_on_ != &device) {
    for (size_t i = 0; i < plan_->constants.size(); ++i)
      if (Value& v = host_constants_[i]; v.is_tensor() && plan_->constants[i].meets_device)
        v = Value::on_both(v.tensor(), moved_to(device, v.tensor()));
    copies_on_ = &device;
  }
  return host_constants_;
}

Values Model::run(std::span<const Value> given) {
  Values inputs(given.begin(), given.end());
  require<ValueError>(inputs.size() <= plan_->inputs.size(), "[onnx] the model has {} inputs: got {}", int64_t(plan_->inputs.size()),
      int64_t(inputs.size()));
  Device& device = device_for(inputs);
  Interpreter interpreter(*plan_, device, training());
  const Values host = host_constants(device);
  for (size_t i = 0; i < plan_->constants.size(); ++i) {
    const PlanConstant& c = plan_->constants[i];
    interpreter.set(c.value, c.role == Role::host ? host[i] : tagged(constant_tensor(c), c.def->type));
  }
  for (size_t i = 0; i < plan_->inputs.size(); ++i) {
    const ValueInfo& info = plan_->inputs[i];
    const bool is_optional = info.type.kind == TypeDef::Kind::optional;
    require<ValueError>(is_optional || (i < inputs.size() && !inputs[i].is_absent() && !inputs[i].is_none()),
        "[onnx] input '{}' is missing: expected {}", info.name, to_text(info.type));
    if (i < inputs.size() && inputs[i].is_map()) inputs[i] = with_declared_values(inputs[i].map(), info.type);
    if (i >= inputs.size() || !inputs[i].is_tensor()) continue;
    const TensorHandle& x = inputs[i].tensor();
    require<DeviceError>(inputs[i].is_on_host() || &x.device() == &device, "[onnx] input '{}' is on {}, the model on {}: move one of them",
        info.name, x.device().name(), device.name());
    if (info.type.kind != TypeDef::Kind::tensor) continue;
    const ElementType wanted = info.type.element_type;
    const bool held = wanted != ElementType::undefined && dtype_of(int64_t(wanted)) == x.dtype();
    if (is_float_code(wanted) || is_small_integer(wanted)) inputs[i].set_element(wanted);
    require<DTypeError>(wanted == ElementType::undefined || held || wanted == element_type_of(x.dtype()) ||
                            (is_floating(x.dtype()) && is_floating(dtype_of(int64_t(wanted)))),
        "[onnx] input '{}' must be {}: got {}", info.name, to_text(info.type), x.dtype());
    require<ShapeError>(!info.type.extents || int64_t(info.type.extents->size()) == x.rank(), "[onnx] input '{}' must be {}: got {}",
        info.name, to_text(info.type), x.shape());
  }
  Values outputs = interpreter.run(plan_->graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i)  // shapes that the model returns are data from here on
    if (outputs[i].is_tensor() && outputs[i].is_on_host()) outputs[i] = Value(moved_to(device, outputs[i].tensor()));
  return outputs;
}

TensorHandle Model::forward(const TensorHandle& x) {
  require<ValueError>(inputs().size() == 1 && outputs().size() == 1, "[onnx] the model has {} inputs and {} outputs: use run()",
      int64_t(inputs().size()), int64_t(outputs().size()));
  const Value in(x);
  const Values out = run({&in, 1});
  require<ValueError>(out[0].is_tensor(), "[onnx] the model returns {}: use run()", to_text(out[0]));
  return out[0].tensor();
}

std::string Model::extra_repr() const {
  std::string text;
  for (const ValueInfo& v : inputs()) text += format("{}: {}\n", v.name, to_text(v.type));
  int64_t nodes = 0;
  for (const auto& [name, count] : plan_->operators) nodes += count;
  text += format("{} nodes: ", nodes);
  for (size_t i = 0; i < plan_->operators.size(); ++i)
    text += format("{}{} {}", i ? ", " : "", plan_->operators[i].second, plan_->operators[i].first);
  for (const ValueInfo& v : outputs()) text += format("\n-> {}: {}", v.name, to_text(v.type));
  return text;
}

static Ref<Model> evaluating(ModelDef def, Device& device, Weights weights) {
  const Ref<Model> model = make_ref<Model>(std::make_shared<const ModelDef>(std::move(def)), device, weights);
  model->eval();
  return model;
}
Ref<Model> load(const std::filesystem::path& path, Device& device, Weights weights) {
  return evaluating(read_model(path), device, weights);
}
Ref<Model> load(const io::SharedBytes& bytes, Device& device) { return evaluating(read_model(bytes), device, Weights::in_memory); }

}  // namespace pyburn::onnx
