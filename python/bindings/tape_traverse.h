// What Python's garbage collector sees of the tape. Hooks, Functions and packed tensors are Python objects that C++ holds; through them a
// tensor may hold itself. The collector finds such cycles when the objects in Python from which the tape hangs (tensors, nodes, modules)
// report what they, and nobody else, keep alive.
#pragma once
#include "pyburn/decorators/autodiff/history.h"
#include "tensor_object.h"

namespace pyburn::python {

// A Python object that the tape holds; it may die on any thread.
//
// It holds two references, because a tensor or a node may have two kinds of owners: its own Python object, and C++, which is all the
// others. Each kind reports one of the references, so that the collector takes the object only where all owners are garbage.
class HeldByTape {
 public:
  explicit HeldByTape(PyObject* owned);
  ~HeldByTape();
  HeldByTape(const HeldByTape&) = delete;
  PyObject* get() const { return p_; }

 private:
  PyObject* p_;
};

// Objects of Python that the collector can reach through the tape alone. While there are none, no tape is traversed.
void count_reachable_through_tape(int more) noexcept;

// Each returns what `visit` does, as a tp_traverse.
int traverse_tensor(const TensorHandle& t, visitproc visit, void* arg);     // by its Python object
int traverse_node(const autograd::Node& node, visitproc visit, void* arg);  // by its Python object
int traverse_held(Inputs tensors, visitproc visit, void* arg);              // by an object that holds each of them once
int traverse_held(const autograd::Node* node, const autograd::HostReferences* packed, visitproc visit, void* arg);

}  // namespace pyburn::python
