// A backend written in Python: an operation becomes a call of a method, a storage holds an array of the library.
#pragma once
#include <nanobind/nanobind.h>

#include "pyburn/runtime/backend.h"

namespace pyburn::python {

// The only class that takes the GIL on its own: what is above it may run on any thread. Holds an instance of
// pyburn.backend.Backend, whose documentation says what the methods called here must do.
class PythonBackend final : public Backend {
 public:
  explicit PythonBackend(nanobind::object self);
  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo& op, DType key) const override;
  bool supports_call(OpRef op, Inputs in, Outputs out) const override;
  Ref<Storage> allocate(DType dtype, int64_t elements) override;
  void upload(const HostArray& from, const TensorHandle& to) override;
  void download(const TensorHandle& from, const HostArray& to) override;
  void synchronize() override;
  std::string name() const override { return name_; }

 private:
  ~PythonBackend() override;
  template <class... A>
  nanobind::object call(const char* method, const A&... arguments) const {
    return nanobind::handle(self_).attr(method)(arguments...);
  }
  nanobind::object read(const TensorHandle& x);
  void write(TensorHandle& to, nanobind::handle value, Device* device);

  PyObject* self_;
  std::string name_;
};

}  // namespace pyburn::python
