#include "python_backend.h"

#include <cstring>

#include "objects.h"
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/run.h"
#include "python_exception.h"

namespace nb = nanobind;

namespace pyburn::python {

class PythonBackend::ArrayStorage final : public Storage {
 public:
  // Where the buffer has the shape and strides of a tensor, `whole`, it is the array that kernels see.
  ArrayStorage(PythonBackend* owner, int64_t bytes, nb::object buffer, std::optional<Layout> whole)
      : Storage(owner, bytes), buffer_(buffer.release().ptr()), whole_(std::move(whole)), owner_(*owner) {
    const int64_t now = owner_.in_use_ += bytes;
    for (int64_t peak = owner_.peak_; now > peak && !owner_.peak_.compare_exchange_weak(peak, now);) {
    }
  }
  ~ArrayStorage() override {
    owner_.in_use_ -= bytes;
    release_later(buffer_);
    release_later(host_view_);
  }

  nb::handle buffer() const { return buffer_; }
  void swap_buffer(ArrayStorage& other) {
    std::swap(buffer_, other.buffer_);
    std::swap(whole_, other.whole_);
  }
  bool is_whole(const Layout& layout) const { return whole_ && *whole_ == layout; }
  void set_host(void* memory, nb::object view) {
    host_view_ = view.release().ptr();
    host = memory;
  }

 private:
  PyObject* buffer_;  // an array of the backend's library
  PyObject* host_view_ = nullptr;
  std::optional<Layout> whole_;
  PythonBackend& owner_;
};

namespace {

nb::str text(std::string_view s) { return nb::str(s.data(), s.size()); }
nb::object numbers(const Dims& dims) {
  nb::object result = nb::steal(PyTuple_New(Py_ssize_t(dims.size())));
  for (int64_t i = 0; i < dims.size(); ++i) PyTuple_SET_ITEM(result.ptr(), Py_ssize_t(i), PyLong_FromLongLong(dims[i]));
  return result;
}
nb::object number(const Scalar& s) {
  if (s.is_floating()) return nb::float_(s.to_double());
  return s.kind() == Scalar::Kind::boolean ? nb::object(nb::bool_(s.to<bool>())) : nb::object(nb::int_(s.to_int()));
}
bool is_true(nb::handle o) {
  const int truth = PyObject_IsTrue(o.ptr());
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}
nb::object stolen(PyObject* p) {
  if (!p) throw nb::python_error();
  return nb::steal(p);
}

// Whether a memoryview, or another one on the same memory (numpy makes one), is known to others.
bool is_still_viewed(nb::handle view) {
  return Py_REFCNT(view.ptr()) > 1 || reinterpret_cast<PyMemoryViewObject*>(view.ptr())->mbuf->exports > 1;
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

// Calls fn as Python code may be called in the middle of a decomposition, or on a foreign thread.
template <class Fn>
auto in_python(Fn fn) {
  const GilAcquire gil;
  const LevelScope top{nullptr};
  drain_released();
  return with_python_exceptions(fn);
}

Capabilities capabilities_of(nb::handle self) {
  const nb::object stated = self.attr("capabilities");
  if (!nb::hasattr(stated, "dtypes") || !nb::hasattr(stated, "host_memory")) {
    PyErr_Format(PyExc_TypeError, "[backend] %s.capabilities must be a pyburn.backend.Capabilities: got %s", Py_TYPE(self.ptr())->tp_name,
        Py_TYPE(stated.ptr())->tp_name);
    throw nb::python_error();
  }
  const auto says = [&](const char* what) { return nb::object(stated.attr(what)).is(nb::bool_(true)); };
  Capabilities c{.host_memory = says("host_memory"), .asynchronous = says("asynchronous"), .channels_last = says("channels_last")};
  if (const nb::object dtypes = stated.attr("dtypes"); !dtypes.is_none()) {
    uint64_t bits = 0;
    for (nb::handle dtype : dtypes) bits |= uint64_t(1) << int(to_dtype(dtype.ptr()));
    c.dtypes = DTypeSet(bits);
  }
  return c;
}

std::string name_of_backend(nb::handle self) {
  const nb::object name = nb::getattr(self, "name", nb::none());
  if (!nb::isinstance<nb::str>(name)) {
    PyErr_Format(PyExc_TypeError, "[backend] %s.name must be a string: got %s", Py_TYPE(self.ptr())->tp_name, Py_TYPE(name.ptr())->tp_name);
    throw nb::python_error();
  }
  return nb::str(name).c_str();
}

}  // namespace

PythonBackend::PythonBackend(nb::object self)
    : self_(self.inc_ref().ptr()), name_(name_of_backend(self)), capabilities_(capabilities_of(self)) {}
PythonBackend::~PythonBackend() { release_later(self_); }

template <class... A>
nb::object PythonBackend::call(const char* method, const A&... arguments) const {
  return nb::handle(self_).attr(method)(arguments...);
}

KernelSupport PythonBackend::support(const OpInfo& op, DType key) const {
  return in_python([&] {
    const nb::object answer = call("supports", text(op.name()), dtype_object(key));
    if (answer.is_none()) return KernelSupport::depends;
    return is_true(answer) ? KernelSupport::native : KernelSupport::none;
  });
}

bool PythonBackend::supports_call(OpRef op, Inputs in, Outputs) const {
  return in_python([&] {
    Keywords attributes;
    op.info->attrs->visit(op.attrs, attributes);
    nb::list metas;
    for (const TensorHandle* t : in) {
      if (t->defined()) metas.append(nb::make_tuple(numbers(t->shape()), dtype_object(t->dtype())));
      else metas.append(nb::none());
    }
    return is_true(call("supports_call", text(op.info->name()), metas, attributes.all));
  });
}

nb::object PythonBackend::read(const TensorHandle& x) {
  if (!x.defined()) return nb::none();
  const auto& storage = *static_cast<ArrayStorage*>(x.storage());
  if (storage.is_whole(x.layout())) return nb::borrow(storage.buffer());
  return call("read", storage.buffer(), dtype_object(x.dtype()), numbers(x.shape()), numbers(x.strides()), x.layout().offset);
}

void PythonBackend::write(const TensorHandle& to, nb::handle value) {
  const auto& storage = *static_cast<ArrayStorage*>(to.storage());
  call("write", storage.buffer(), dtype_object(to.dtype()), numbers(to.shape()), numbers(to.strides()), to.layout().offset, value);
}

// The result of a kernel. An undefined output belongs to an operation that decides its size while it runs.
void PythonBackend::store(TensorHandle& to, nb::handle value, Device* device) {
  if (!to.defined()) {
    require<UnsupportedOp>(device, "decides its size while it runs, and has no input that names the device");
    const auto [dtype, shape] = described(value);
    to = make_tensor(*device, dtype, contiguous_layout(shape));
  }
  if (!to.storage()) {
    const Layout& layout = to.layout();
    if (nb::object array = call("adopt", value, dtype_object(to.dtype()), numbers(layout.shape), numbers(layout.strides));
        !array.is_none()) {
      to.impl()->storage = make_storage(to.dtype(), to.numel(), std::move(array), layout);
      return;
    }
    to.impl()->storage = allocate(to.dtype(), to.numel());
  }
  write(to, value);
}

void PythonBackend::execute(OpRef op, Inputs in, Outputs out) {
  in_python([&] {
    Keywords attributes;
    op.info->attrs->visit(op.attrs, attributes);
    Device* device = nullptr;
    const nb::object arguments = nb::steal(PyList_New(Py_ssize_t(in.size())));
    for (size_t i = 0; i < in.size(); ++i) {
      PyList_SET_ITEM(arguments.ptr(), Py_ssize_t(i), read(*in[i]).release().ptr());
      if (!device && in[i]->defined()) device = &in[i]->device();
    }
    const nb::object results = call("run", text(op.info->name()), arguments, attributes.all, int64_t(out.size()));
    const bool is_tuple = PyTuple_Check(results.ptr());
    const int64_t count = is_tuple ? PyTuple_GET_SIZE(results.ptr()) : 0;
    require<ValueError>(is_tuple && count == int64_t(out.size()), "run() of the backend {} must return a tuple of {} arrays: got {}", name_,
        int64_t(out.size()), is_tuple ? format("{} arrays", count) : std::string(Py_TYPE(results.ptr())->tp_name));
    for (size_t i = 0; i < out.size(); ++i) {
      try {
        with_python_exceptions([&] { store(out[i], PyTuple_GET_ITEM(results.ptr(), Py_ssize_t(i)), device); });
      } catch (const PythonException& e) {
        const std::string expected = out[i].defined() ? format("{} of shape {}", out[i].dtype(), out[i].shape()) : "an array";
        throw e.explained(format("[{}] the result of the backend {} cannot be stored: expected {}", op.info->function(), name_, expected));
      }
    }
  });
}

std::pair<DType, Shape> PythonBackend::described(nb::handle array) const {
  const nb::object meta = call("describe", array);
  const Shape shape = to_dims(nb::object(meta[0]).ptr());
  checked_numel(shape);
  return {to_dtype(nb::object(meta[1]).ptr()), shape};
}

Ref<Storage> PythonBackend::make_storage(DType dtype, int64_t elements, nb::object buffer, std::optional<Layout> whole) {
  require<ValueError>(!buffer.is_none(), "[backend] allocate() and upload() of {} must return a buffer: got None", name_);
  return Ref<Storage>(new ArrayStorage(this, bytes_of(dtype, elements), std::move(buffer), std::move(whole)));
}

Ref<Storage> PythonBackend::allocate(DType dtype, int64_t elements) {
  require_dtype(*this, dtype);
  return in_python([&] { return make_storage(dtype, elements, call("allocate", dtype_object(dtype), elements)); });
}

void PythonBackend::upload(const HostArray& from, const TensorHandle& to) {
  in_python([&] {
    char nothing;
    char* data = from.bytes() ? static_cast<char*>(from.data) : &nothing;
    const nb::object view = stolen(PyMemoryView_FromMemory(data, Py_ssize_t(from.bytes()), PyBUF_READ));
    nb::object buffer = call("upload", view, dtype_object(from.meta.dtype));
    require<ValueError>(
        !is_still_viewed(view), "[upload] the backend {} must copy the elements: it kept a view of memory that is not its own", name_);
    auto& storage = *static_cast<ArrayStorage*>(to.storage());
    Ref<Storage> fresh = make_storage(to.dtype(), to.numel(), std::move(buffer));
    if (storage.host) write(to, read(make_tensor(to.device(), to.dtype(), to.layout(), std::move(fresh))));  // others look at the memory
    else storage.swap_buffer(*static_cast<ArrayStorage*>(fresh.get()));
  });
}

void PythonBackend::download(const TensorHandle& from, const HostArray& to) {
  in_python([&] {
    const nb::object data = call("download", read(from), dtype_object(from.dtype()));
    Py_buffer view;
    if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
    const bool fits = view.len == to.bytes();
    if (fits && view.len > 0) std::memcpy(to.data, view.buf, size_t(view.len));
    const int64_t length = view.len;
    PyBuffer_Release(&view);
    require<ValueError>(
        fits, "[download] the backend {} gave the wrong number of bytes: got {} for {} of {}", name_, length, from.dtype(), from.shape());
  });
}

void PythonBackend::synchronize() {
  in_python([&] { call("synchronize"); });
}

MemoryStatistics PythonBackend::memory() const {
  return in_python([&]() -> MemoryStatistics {
    const nb::object own = call("memory");
    if (own.is_none()) return {.in_use = in_use_, .reserved = in_use_, .peak = peak_};
    const auto bytes = [&](const char* key) {
      const int64_t n = PyLong_AsLongLong(nb::object(own[key]).ptr());
      if (n == -1 && PyErr_Occurred()) throw nb::python_error();
      return n;
    };
    return {.in_use = bytes("in_use"), .reserved = bytes("reserved"), .peak = bytes("peak")};
  });
}

TensorHandle PythonBackend::share(nb::handle exporter, Device& device) {
  return in_python([&]() -> TensorHandle {
    nb::object array = call("share", exporter);
    if (array.is_none()) return {};
    const auto [dtype, shape] = described(array);
    const Layout layout{shape, to_dims(call("strides", array).ptr()), 0};
    require_dtype(*this, dtype);
    require(layout.strides.size() == shape.rank() && layout.extent().first == 0,
        "[from_dlpack] the backend {} returned invalid strides: got {}", name_, layout);
    Ref<Storage> storage = make_storage(dtype, layout.extent().second, std::move(array), layout);
    storage->exposed = true;
    return make_tensor(device, dtype, layout, std::move(storage));
  });
}

nb::object PythonBackend::array_of(const TensorHandle& x) {
  return in_python([&] { return read(x); });
}

void PythonBackend::expose_host_memory(const TensorHandle& x) {
  auto& storage = *static_cast<ArrayStorage*>(x.storage());
  if (storage.host || !capabilities_.host_memory) return;
  in_python([&] {
    nb::object view = stolen(PyMemoryView_FromObject(call("host_view", storage.buffer(), dtype_object(x.dtype())).ptr()));
    const Py_buffer& memory = *PyMemoryView_GET_BUFFER(view.ptr());
    if (memory.len == storage.bytes && !memory.readonly) storage.set_host(memory.buf, std::move(view));
  });
}

}  // namespace pyburn::python
