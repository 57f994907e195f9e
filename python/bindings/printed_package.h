// The package name printed for dtypes and sizes: pyburn.float32, pyburn.Size([2]). compat prints torch's.
#pragma once
#include <string>

namespace pyburn::python {

std::string& printed_package();

}  // namespace pyburn::python
