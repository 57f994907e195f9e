#include "pyburn/nn/sequential.h"

namespace pyburn::nn {

TensorHandle Sequential::forward(const TensorHandle& x) {
  TensorHandle y = x;
  // By index: a module that changes the list while it runs must not leave the walk on freed memory.
  for (size_t i = 0; i < entries().size(); ++i)
    if (const Ref<Module> m = entries()[i].module) y = m->call(y);
  return y;
}

}  // namespace pyburn::nn
