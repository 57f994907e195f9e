// ParameterList and ParameterDict: parameters in a list or by name. Plain tensors are converted to parameters.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

// Named "0", "1", ...
class ParameterList : public Module {
 public:
  ParameterList() = default;
  explicit ParameterList(const std::vector<TensorHandle>& values) { extend(values); }

  int64_t size() const { return int64_t(entries().size()); }
  TensorHandle at(int64_t index) const;  // negative indices count from the end; IndexError
  void set(int64_t index, const TensorHandle& value);
  void append(const TensorHandle& value);
  void extend(const std::vector<TensorHandle>& values);
  PB_MODULE(ParameterList)
  std::string extra_repr() const override;

 private:
  std::string key_of(int64_t index) const;
};

// In insertion order.
class ParameterDict : public Module {
 public:
  ParameterDict() = default;
  explicit ParameterDict(const NamedTensors& values) { update(values); }

  int64_t size() const { return int64_t(entries().size()); }
  bool contains(std::string_view key) const;
  std::vector<std::string> keys() const;
  TensorHandle at(std::string_view key) const;  // IndexError if there is none
  void set(const std::string& key, const TensorHandle& value);
  void update(const NamedTensors& values);
  TensorHandle pop(std::string_view key);
  PB_MODULE(ParameterDict)
  std::string extra_repr() const override;
};

}  // namespace pyburn::nn
