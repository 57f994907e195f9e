// C++ operators on handles; those of Tensor are in functions.h.
#pragma once
#include "pyburn/runtime/run.h"

namespace pyburn {

// Redeclared here: the headers of their families change often, and this header is included everywhere.
namespace fn {
TensorHandle add(const Operand& input, const Operand& other, const Scalar& alpha);
TensorHandle sub(const Operand& input, const Operand& other, const Scalar& alpha);
TensorHandle mul(const Operand& input, const Operand& other);
TensorHandle div(const Operand& input, const Operand& other);
TensorHandle neg(const TensorHandle& input);
}  // namespace fn

inline TensorHandle operator+(const TensorHandle& a, const Operand& b) { return fn::add(a, b, 1); }
inline TensorHandle operator-(const TensorHandle& a, const Operand& b) { return fn::sub(a, b, 1); }
inline TensorHandle operator*(const TensorHandle& a, const Operand& b) { return fn::mul(a, b); }
inline TensorHandle operator/(const TensorHandle& a, const Operand& b) { return fn::div(a, b); }
template <class N>
requires std::is_arithmetic_v<N> TensorHandle operator+(N a, const TensorHandle& b) { return fn::add(b, a, 1); }
template <class N>
requires std::is_arithmetic_v<N> TensorHandle operator-(N a, const TensorHandle& b) { return fn::sub(a, b, 1); }
template <class N>
requires std::is_arithmetic_v<N> TensorHandle operator*(N a, const TensorHandle& b) { return fn::mul(b, a); }
template <class N>
requires std::is_arithmetic_v<N> TensorHandle operator/(N a, const TensorHandle& b) { return fn::div(a, b); }
inline TensorHandle operator-(const TensorHandle& a) { return fn::neg(a); }

}  // namespace pyburn
