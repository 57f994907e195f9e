#include "pyburn/tensor/handle.h"

namespace pyburn {

void (*TensorImpl::forget_python)(void*) = nullptr;

TensorImpl::~TensorImpl() {
  if (py && forget_python) forget_python(py);
}

}  // namespace pyburn
