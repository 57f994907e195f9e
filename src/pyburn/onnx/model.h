// Model: an ONNX file as a module. Its parameters are the floating-point initializers of the file, under their names.
//
//   const Ref<onnx::Model> model = onnx::load("yunet.onnx");
//   const onnx::Values outputs = model->run({{image}});
#pragma once
#include <mutex>

#include "pyburn/nn/module.h"
#include "pyburn/onnx/plan.h"
#include "pyburn/runtime/device.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::onnx {

// Where weights are: in memory of their own, or in the mapped file as far as it can be read in place. The file must stay as it is then.
enum class Weights : uint8_t { in_memory, in_file };

class Model : public nn::Module {
 public:
  // Puts the tensors on `device`. UnsupportedOp lists everything that the model needs and pyburn does not have.
  Model(std::shared_ptr<const ModelDef> def, Device& device, Weights weights = Weights::in_memory);
  Model() = default;  // of nothing: for copies, which get their plan later
  Model(const Model& other);
  Ref<Model> without_tensors() const;  // the same graph; parameters and buffers are registered by the caller

  // Runs the nodes in order, through the door: gradients flow, and what is recorded is recorded. Inputs in the order of inputs().
  Values run(std::span<const Value> inputs);
  TensorHandle forward(const TensorHandle& x) override;  // for models of one input and one output

  const std::vector<ValueInfo>& inputs() const { return plan_->inputs; }
  const std::vector<ValueInfo>& outputs() const { return plan_->outputs; }
  const ModelDef& def() const { return *def_; }
  std::span<const std::byte> file() const { return def_->file.view(); }
  const Plan& plan() const { return *plan_; }

  std::string type_name() const override { return "Model"; }
  std::string extra_repr() const override;
  PB_COPYABLE(Model)

 private:
  void register_constants(Device& device, Weights weights);
  Device& device_for(std::span<const Value> inputs);
  TensorHandle constant_tensor(const PlanConstant& c);
  Values host_constants(Device& device);

  std::shared_ptr<const ModelDef> def_ = std::make_shared<const ModelDef>();
  std::shared_ptr<const Plan> plan_ = std::make_shared<const Plan>();
  ForkSafeMutex mutex_;
  Device* copies_on_ = nullptr;  // where the copies in host_constants_ are
  Values host_constants_;        // by constant; absent for parameters and buffers
};

// A model in evaluation mode.
Ref<Model> load(const std::filesystem::path& path, Device& device = default_device(), Weights weights = Weights::in_memory);
Ref<Model> load(const io::SharedBytes& bytes, Device& device = default_device());

}  // namespace pyburn::onnx
