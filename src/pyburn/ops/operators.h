// C++ operators on tensors.
#pragma once
#include "pyburn/ops/functions.h"

namespace pyburn {

inline Tensor operator+(const TensorHandle& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const TensorHandle& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const TensorHandle& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const TensorHandle& a, const Operand& b) { return div(a, b); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator+(N a, const TensorHandle& b) { return add(b, a); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator-(N a, const TensorHandle& b) { return sub(Operand(a), b); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator*(N a, const TensorHandle& b) { return mul(b, a); }
template <class N>
requires std::is_arithmetic_v<N> Tensor operator/(N a, const TensorHandle& b) { return div(Operand(a), b); }
inline Tensor operator-(const TensorHandle& a) { return neg(a); }

}  // namespace pyburn
