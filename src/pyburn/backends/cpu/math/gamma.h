// Functions without a short vector form, computed element by element in double precision.
#pragma once
#include <cstdint>

namespace pyburn::cpu {

double log_gamma(double x);
double digamma(double x);               // the derivative of log_gamma
double polygamma(int64_t n, double x);  // the n-th derivative of digamma
double inverse_erf(double x);

}  // namespace pyburn::cpu
