#include "python_backend.h"

#include <cstring>

#include "objects.h"
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/run.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

class PythonStorage final : public Storage {
 public:
  PythonStorage(Backend* owner, int64_t bytes, nb::object buffer) : Storage(owner, bytes), buffer_(buffer.release().ptr()) {}
  ~PythonStorage() override { release_later(buffer_); }
  nb::handle buffer() const { return buffer_; }
  void replace(nb::object buffer) { release_later(std::exchange(buffer_, buffer.release().ptr())); }

 private:
  PyObject* buffer_;  // a flat array of the backend's library
};
PythonStorage& storage_of(const TensorHandle& t) { return *static_cast<PythonStorage*>(t.storage()); }

nb::str text(std::string_view s) { return nb::str(s.data(), s.size()); }
nb::tuple numbers(const Dims& dims) {
  nb::list list;
  for (int64_t d : dims) list.append(d);
  return nb::tuple(list);
}
nb::object number(const Scalar& s) {
  if (s.is_floating()) return nb::float_(s.to_double());
  return s.kind() == Scalar::Kind::boolean ? nb::object(nb::bool_(s.to<bool>())) : nb::object(nb::int_(s.to_int()));
}

// The attributes of an operation as keyword arguments.
class Keywords final : public FieldVisitor {
 public:
  nb::dict all;
  void field(std::string_view name, bool v) override { all[text(name)] = v; }
  void field(std::string_view name, int64_t v) override { all[text(name)] = v; }
  void field(std::string_view name, double v) override { all[text(name)] = v; }
  void field(std::string_view name, const std::string& v) override { all[text(name)] = text(v); }
  void field(std::string_view name, DType v) override { all[text(name)] = dtype_object(v); }
  void field(std::string_view name, const Dims& v) override { all[text(name)] = numbers(v); }
  void field(std::string_view name, const Scalar& v) override { all[text(name)] = number(v); }
  void field(std::string_view name, const std::optional<Scalar>& v) override { all[text(name)] = v ? number(*v) : nb::none(); }
  void field(std::string_view name, const Ref<Graph>&) override {
    fail<UnsupportedOp>("a graph cannot be given to a kernel written in Python: got it as {}", name);
  }
  void field(std::string_view name, const Numbers& v) override {
    nb::list list;
    for (double d : v) list.append(d);
    all[text(name)] = nb::tuple(list);
  }
  void optional(std::string_view name, bool given) override {
    if (!given) all[text(name)] = nb::none();
  }
};

// What a kernel may be doing when it is called in the middle of a decomposition or on a foreign thread.
struct KernelScope {
  GilAcquire gil;
  LevelScope top{nullptr};
  KernelScope() { drain_released(); }
};

}  // namespace

PythonBackend::PythonBackend(nb::object self)
    : self_(self.release().ptr()), name_(nb::cast<nb::str>(nb::handle(self_).attr("name")).c_str()) {}
PythonBackend::~PythonBackend() { release_later(self_); }

KernelSupport PythonBackend::support(const OpInfo& op, DType key) const {
  const KernelScope scope;
  const nb::object answer = call("supports", text(op.name()), dtype_object(key));
  if (answer.is_none()) return KernelSupport::depends;
  return nb::cast<bool>(answer) ? KernelSupport::native : KernelSupport::none;
}

bool PythonBackend::supports_call(OpRef op, Inputs in, Outputs) const {
  const KernelScope scope;
  Keywords attributes;
  op.info->attrs->visit(op.attrs, attributes);
  nb::list metas;
  for (const TensorHandle* t : in) {
    if (t->defined()) metas.append(nb::make_tuple(numbers(t->shape()), dtype_object(t->dtype())));
    else metas.append(nb::none());
  }
  return nb::cast<bool>(call("supports_call", text(op.info->name()), metas, attributes.all));
}

nb::object PythonBackend::read(const TensorHandle& x) {
  if (!x.defined()) return nb::none();
  return call("read", storage_of(x).buffer(), dtype_object(x.dtype()), numbers(x.shape()), numbers(x.strides()), x.layout().offset);
}

// An undefined output belongs to an operation that decides its size while it runs.
void PythonBackend::write(TensorHandle& to, nb::handle value, Device* device) {
  if (!to.defined()) {
    const nb::tuple meta = nb::cast<nb::tuple>(call("describe", value));
    const DType dtype = to_dtype(nb::object(meta[1]).ptr());
    const Shape shape = to_dims(nb::object(meta[0]).ptr());
    to = make_tensor(*device, dtype, contiguous_layout(shape), allocate(dtype, shape.numel()));
  }
  call("write", storage_of(to).buffer(), dtype_object(to.dtype()), numbers(to.shape()), numbers(to.strides()), to.layout().offset, value);
}

void PythonBackend::execute(OpRef op, Inputs in, Outputs out) {
  const KernelScope scope;
  Keywords attributes;
  op.info->attrs->visit(op.attrs, attributes);
  nb::list arguments;
  for (const TensorHandle* t : in) arguments.append(read(*t));
  const nb::object results = call("run", text(op.info->name()), arguments, attributes.all, int64_t(out.size()));
  for (size_t i = 0; i < out.size(); ++i) write(out[i], results[i], in.empty() ? nullptr : &in[0]->device());
}

Ref<Storage> PythonBackend::allocate(DType dtype, int64_t elements) {
  const KernelScope scope;
  return Ref<Storage>(new PythonStorage(this, bytes_of(dtype, elements), call("allocate", dtype_object(dtype), elements)));
}

void PythonBackend::upload(const HostArray& from, const TensorHandle& to) {
  const KernelScope scope;
  const nb::bytes data(from.data, size_t(from.bytes()));
  storage_of(to).replace(call("upload", data, dtype_object(from.meta.dtype)));
}

void PythonBackend::download(const TensorHandle& from, const HostArray& to) {
  const KernelScope scope;
  const nb::object data = call("download", read(from), dtype_object(from.dtype()));
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  const bool fits = view.len == to.bytes();
  if (fits && view.len > 0) std::memcpy(to.data, view.buf, size_t(view.len));
  const int64_t length = view.len;
  PyBuffer_Release(&view);
  require<ValueError>(
      fits, "[download] the backend {} gave the wrong number of bytes: got {} for {} of {}", name_, length, from.dtype(), from.shape());
}

void PythonBackend::synchronize() {
  const KernelScope scope;
  call("synchronize");
}

}  // namespace pyburn::python
