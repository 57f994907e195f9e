// Calls from Python: arguments are matched to an operation's schema at run time, so each operation needs only one thunk.
#pragma once
#include "pyburn/ir/schema.h"
#include "pyburn/ops/copy.h"
#include "tensor_object.h"
#include "tensors_in_use.h"

namespace pyburn::python {

struct Signature;

class Arguments {
 public:
  // Matches the arguments of a vectorcall to the signature. Raises TypeError as a PythonError.
  Arguments(const Signature& s, PyObject* const* args, size_t nargs, PyObject* kwnames);
  ~Arguments() { Py_XDECREF(gathered_); }
  Arguments(const Arguments&) = delete;

  const TensorHandle& tensor(int i) const;
  const TensorHandle& optional_tensor(int i) const;
  Tensors tensors(int i) const;
  Operand operand(int i) const;
  Scalar scalar(int i) const;
  std::optional<Scalar> optional_scalar(int i) const;
  int64_t integer(int i) const;
  std::optional<int64_t> optional_integer(int i) const;
  Dims dims(int i) const;
  OptionalDims optional_dims(int i) const;
  double number(int i) const;
  std::optional<double> optional_number(int i) const;
  Numbers numbers(int i) const;
  OptionalNumbers optional_numbers(int i) const;
  bool boolean(int i) const;
  std::optional<bool> optional_boolean(int i) const;
  std::string text(int i) const;
  std::optional<std::string> optional_text(int i) const;
  DType dtype(int i) const;
  std::optional<DType> optional_dtype(int i) const;
  Device* optional_device(int i) const;
  Generator* optional_generator(int i) const;
  bool is_none(int i) const { return get(i) == Py_None; }

  PyObject* out() const { return out_; }                      // the out= argument, or null
  SmallVector<TensorHandle, 4> targets() const;               // the contents of out()
  PyObject* memory_format() const { return memory_format_; }  // the requested memory order of the result, or null
  bool is_large() const { return large_; }                    // large enough to release the GIL
  void add_tensors_to(TensorsInUse& used) const;

  // Converts the result to Python; several results are a named tuple.
  PyObject* wrapped(TensorHandle t) const { return wrap(std::move(t)); }
  PyObject* wrapped(const Tensors& ts) const { return wrap(ts); }
  PyObject* wrapped(bool b) const { return PyBool_FromLong(b); }
  template <class Tensor, size_t N>
  PyObject* wrapped(const std::array<Tensor, N>& results) const {
    const TensorHandle* pointers[N];
    for (size_t i = 0; i < N; ++i) pointers[i] = &results[i];
    return wrapped_many(pointers);
  }
  PyObject* wrapped_many(std::span<const TensorHandle* const> results) const;
  [[noreturn]] void refuse(int i, const char* expected) const;

 private:
  PyObject* get(int i) const { return values_[i]; }

  const Signature& signature_;
  PyObject* values_[kMostParameters];
  PyObject* out_ = nullptr;
  PyObject* memory_format_ = nullptr;
  PyObject* gathered_ = nullptr;  // sizes or tensors that were passed as separate positional arguments
  bool large_ = false;
};

// Releases the GIL during calls of large tensors.
class LargeCall {
 public:
  explicit LargeCall(const Arguments& a) : used_(a), released_(a.is_large()) {}

 private:
  struct Used : TensorsInUse {
    explicit Used(const Arguments& a) {
      if (a.is_large()) a.add_tensors_to(*this);
    }
  } used_;
  GilRelease released_;  // ends first
};

// Calls fn(arguments...), without the GIL if the tensors are large.
template <class Fn, class... A>
auto invoke(const Arguments& a, Fn fn, const A&... arguments) {
  const LargeCall call(a);
  return fn(arguments...);
}

inline constexpr uint8_t kMethod = 1, kInPlace = 2;
struct FunctionEntry {
  const char *schema, *doc, *example;
  PyObject* (*call)(const Arguments&);
  void (*into)(const Arguments&, std::span<const TensorHandle> out);  // out= and in-place; null if there is none
  uint8_t flags;
};
extern const FunctionEntry kFunctions[];
extern const size_t kFunctionCount;

// Adds all generated functions to the module, and methods to the Tensor class.
bool add_functions(PyObject* module);
// Functions for operations without generated ones: a dict of them, with their in-place forms, by name. ValueError if a schema does not
// match the attributes.
PyObject* functions_of(std::span<const OpInfo* const> rows);

// Conversions shared with hand-written bindings. They throw PythonError with a TypeError set.
bool to_scalar(PyObject* p, Scalar& out);  // false if p is not a number
DType to_dtype(PyObject* p);
Device& to_device(PyObject* p);
Dims to_dims(PyObject* p);
MemoryOrder to_memory_order(PyObject* p);

// Hand-written parts of the Tensor class.
PyGetSetDef* tensor_attributes();
PyMethodDef* tensor_methods();
PyObject* tensor_compare(PyObject* a, PyObject* b, int op);
extern const PyType_Slot tensor_protocol_slots[];  // str, bool, len, iteration, conversion to numbers
extern const PyType_Slot tensor_index_slots[];     // x[...] and x[...] = y
extern const PyType_Slot tensor_buffer_slots[];    // memory exported to other libraries
PyObject* make_size(const Dims& d);                // a pyburn.Size
bool is_size(PyObject* p);
bool make_size_type(PyObject* module);
// A tensor from numbers, nested sequences, arrays or a tensor; the dtype is that of the data by default.
PyObject* tensor_from_data(PyObject* data, std::optional<DType> dtype, Device* device);
TensorHandle tensor_from_array(PyObject* array, std::optional<DType> dtype, Device& device);  // a copy of an object with a buffer
bool shares_host_memory(const TensorHandle& t);                                               // may its memory be exported?
PyObject* item_of(const TensorHandle& t);                                                     // the single element as a Python number

}  // namespace pyburn::python
