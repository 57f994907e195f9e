// A backend written in Python: operations call methods, and a storage holds an array of the library.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "pyburn/runtime/backend.h"

namespace pyburn::python {

// The only class that acquires the GIL itself: the layers above it may run on any thread. Holds an instance of pyburn.backend.Backend,
// which documents the methods called here.
class PythonBackend final : public Backend {
 public:
  explicit PythonBackend(nanobind::object self);
  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo& op, DType key) const override;
  bool supports_call(OpRef op, Inputs in, Outputs out) const override;
  Capabilities capabilities() const override { return capabilities_; }
  bool owns_storage() const override { return false; }  // execute() creates storages: a kernel's result may become one
  Ref<Storage> allocate(DType dtype, int64_t elements) override;
  void upload(const HostArray& from, const TensorHandle& to) override;
  void download(const TensorHandle& from, const HostArray& to) override;
  void synchronize() override;
  MemoryStatistics memory() const override;
  std::string name() const override { return name_; }

  // The library's array for a tensor of this backend.
  nanobind::object array_of(const TensorHandle& x);
  // A tensor on the memory of an object that exports it by DLPack; undefined if the library cannot share it.
  TensorHandle share(nanobind::handle exporter, Device& device);
  // Sets Storage::host if the library provides the address.
  void expose_host_memory(const TensorHandle& x);

 private:
  class ArrayStorage;
  ~PythonBackend() override;
  template <class... A>
  nanobind::object call(const char* method, const A&... arguments) const;
  nanobind::object read(const TensorHandle& x);
  void write(const TensorHandle& to, nanobind::handle value);
  void store(TensorHandle& to, nanobind::handle value, Device* device);
  std::pair<DType, Shape> described(nanobind::handle array) const;
  Ref<Storage> make_storage(DType dtype, int64_t elements, nanobind::object buffer, std::optional<Layout> whole = {});

  PyObject* self_;
  std::string name_;
  Capabilities capabilities_;
  std::atomic<int64_t> in_use_{0}, peak_{0};  // bytes of the live storages
};

}  // namespace pyburn::python
