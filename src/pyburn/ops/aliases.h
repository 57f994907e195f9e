// Aliases of functions, as in PyTorch. A line here defines the C++ function, the Python function and its method, in-place form, stub and
// entry on the reference page.
#pragma once

namespace pyburn {

struct Alias {
  const char *name, *function;
};
inline constexpr Alias kAliases[] = {
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
    {"orgqr", "linalg_householder_product"},
    {"sgn", "sign"},
    {"subtract", "sub"},
    {"trapz", "trapezoid"},
    {"true_divide", "div"},
    {"unsafe_chunk", "chunk"},
    {"unsafe_split", "split"},
    {"unsafe_split_with_sizes", "split_with_sizes"},
};

}  // namespace pyburn
