// All operations as C++ functions and as methods of Tensor, and the operators.
#pragma once
#include "pyburn/ops/generated/functions.h"
#include "pyburn/ops/operators.h"

namespace pyburn {

inline Tensor operator+(const Tensor& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Operand& b) { return div(a, b); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator+(N a, const Tensor& b) { return add(b, a); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator-(N a, const Tensor& b) { return sub(Operand(a), b); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator*(N a, const Tensor& b) { return mul(b, a); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator/(N a, const Tensor& b) { return div(Operand(a), b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }

}  // namespace pyburn
