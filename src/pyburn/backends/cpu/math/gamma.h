// Functions without a short vector form, one element at a time in double precision.
#pragma once
#include <cstdint>

namespace pyburn::cpu {

double log_gamma(double x);
double digamma(double x);               // the derivative of log_gamma
double polygamma(int64_t n, double x);  // the derivative of order n of digamma
double inverse_erf(double x);

}  // namespace pyburn::cpu
