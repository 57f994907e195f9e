#include "pyburn/io/float8.h"

#include <array>
#include <bit>
#include <cmath>

namespace pyburn::io {
namespace {

struct Form {
  Float8 kind;
  std::string_view torch, safetensors;
  int mantissa, bias;  // bits of the mantissa; what the exponent of 1 is written as
};
constexpr Form kForms[] = {
    {Float8::e4m3fn, "torch.float8_e4m3fn", "F8_E4M3", 3, 7},
    {Float8::e5m2, "torch.float8_e5m2", "F8_E5M2", 2, 15},
    {Float8::e4m3fnuz, "torch.float8_e4m3fnuz", "F8_E4M3FNUZ", 3, 8},
    {Float8::e5m2fnuz, "torch.float8_e5m2fnuz", "F8_E5M2FNUZ", 2, 16},
    {Float8::e8m0fnu, "torch.float8_e8m0fnu", "F8_E8M0", 0, 127},
};

// Which bits mean no finite number is what the letters of a form say: f, finite; n, of NaN there is one; u, zero has no sign, and z, that
// NaN has the place of -0.
float special(Float8 kind, int bits) {
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  switch (kind) {
    case Float8::e4m3fn:
      return (bits & 0x7f) == 0x7f ? NAN : 0;
    case Float8::e5m2:
      return (bits & 0x7f) < 0x7c ? 0 : (bits & 3) == 0 ? sign * INFINITY : NAN;
    case Float8::e4m3fnuz:
    case Float8::e5m2fnuz:
      return bits == 0x80 ? NAN : 0;
    case Float8::e8m0fnu:
      return bits == 0xff ? NAN : 0;
  }
  return 0;
}

float decoded(const Form& f, int bits) {
  if (const float s = special(f.kind, bits); s != 0) return s;
  if (f.kind == Float8::e8m0fnu) return std::ldexp(1.0f, bits - f.bias);  // an exponent alone
  const int low = bits & ((1 << f.mantissa) - 1), exponent = (bits & 0x7f) >> f.mantissa;
  const float size = exponent == 0 ? std::ldexp(float(low), 1 - f.bias - f.mantissa)
                                   : std::ldexp(float(low + (1 << f.mantissa)), exponent - f.bias - f.mantissa);
  return bits & 0x80 ? -size : size;
}

std::array<uint16_t, 256> table_of(Float8 kind) {
  std::array<uint16_t, 256> table;
  for (const Form& f : kForms)
    for (int bits = 0; f.kind == kind && bits < 256; ++bits)
      table[size_t(bits)] = uint16_t(std::bit_cast<uint32_t>(decoded(f, bits)) >> 16);
  return table;
}

}  // namespace

std::optional<Float8> float8_from_torch(std::string_view name) {
  for (const Form& f : kForms)
    if (f.torch == name) return f.kind;
  return std::nullopt;
}
std::optional<Float8> float8_from_safetensors(std::string_view name) {
  for (const Form& f : kForms)
    if (f.safetensors == name) return f.kind;
  return std::nullopt;
}

SharedBytes as_bfloat16(const SharedBytes& bytes, Float8 kind) {
  const std::array<uint16_t, 256> table = table_of(kind);
  std::vector<std::byte> wide;
  wide.reserve(2 * bytes.size());
  for (std::byte b : bytes.view()) {
    const uint16_t bits = table[size_t(b)];
    wide.push_back(std::byte(bits & 0xff));
    wide.push_back(std::byte(bits >> 8));
  }
  return SharedBytes::of(std::move(wide));
}

}  // namespace pyburn::io
