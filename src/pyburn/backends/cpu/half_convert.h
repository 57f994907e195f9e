// float16 and bfloat16 to float and back, many at a time.
#pragma once
#include <cstdint>

#include "pyburn/tensor/half.h"

namespace pyburn::cpu {

void convert_many(const Half* from, float* to, int64_t n);
void convert_many(const BFloat16* from, float* to, int64_t n);
void convert_many(const float* from, Half* to, int64_t n);
void convert_many(const float* from, BFloat16* to, int64_t n);

}  // namespace pyburn::cpu
