// Traversal of the tape by Python's garbage collector. Hooks, Functions and packed tensors are Python objects held by C++, through which a
// tensor may reference itself. The collector finds such cycles if the Python objects that own parts of the tape (tensors, nodes, modules)
// report what only they keep alive.
#pragma once
#include "pyburn/decorators/autodiff/history.h"
#include "tensor_object.h"

namespace pyburn::python {

// A Python object that the tape holds; it may be released on any thread.
//
// It holds two references, because a tensor or a node has two kinds of owners: its own Python object, and C++, which represents all others.
// Each kind reports one reference, so the collector frees the object only if all owners are garbage.
class HeldByTape {
 public:
  explicit HeldByTape(PyObject* owned);
  ~HeldByTape();
  HeldByTape(const HeldByTape&) = delete;
  PyObject* get() const { return p_; }

 private:
  PyObject* p_;
};

// The number of Python objects that are reachable only through the tape. If it is 0, no tape is traversed.
void count_reachable_through_tape(int more) noexcept;

// Each returns the result of `visit`, like a tp_traverse.
int traverse_tensor(const TensorHandle& t, visitproc visit, void* arg);     // by its Python object
int traverse_node(const autograd::Node& node, visitproc visit, void* arg);  // by its Python object
int traverse_held(Inputs tensors, visitproc visit, void* arg);              // by an object that holds each of them once
int traverse_held(const autograd::Node* node, const autograd::HostReferences* packed, visitproc visit, void* arg);

}  // namespace pyburn::python
