// What a fast Fourier transform of n complex numbers needs to know beforehand: its passes and their roots of unity.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace pyburn::cpu::fft {

// Turns a row of n = radix * m numbers into m rows of radix numbers (decimation in frequency, in natural order).
struct Pass {
  int64_t radix = 1, m = 1;
  int64_t roots = 0;  // where its roots begin: w^(j k) for k from 1 below radix, then j below m
};

template <class T>
struct Plan {
  int64_t n = 1;
  std::vector<Pass> passes;
  std::vector<T> cos, sin;              // roots of all passes
  std::vector<T> small_cos, small_sin;  // of a radix that has no code of its own: exp(-2 pi i k / radix), passes in order

  // An n with a large prime factor, by Bluestein's algorithm: a convolution with chirp, of length `wide->n`, a power of 2.
  std::shared_ptr<const Plan> wide;
  std::vector<T> chirp_cos, chirp_sin;    // exp(-pi i j^2 / n)
  std::vector<T> filter_cos, filter_sin;  // transform of the conjugate chirp, over wide->n

  int64_t scratch() const { return wide ? wide->n : n; }  // numbers that a run needs room for
};

// Made once, and kept for later calls; the roots are exact to the last bit of T.
template <class T>
std::shared_ptr<const Plan<T>> plan_for(int64_t n);

// exp(-2 pi i k / n) for k up to half of n, by which a real transform is made from a complex one of half the length. Kept, too.
template <class T>
struct HalfRoots {
  int64_t n = 1;
  std::vector<T> cos, sin;
  int64_t scratch() const { return n; }
};
template <class T>
std::shared_ptr<const HalfRoots<T>> half_roots_for(int64_t n);

// exp(-2 pi i k / n), 0 <= k < n.
void root_of_unity(int64_t k, int64_t n, double& re, double& im);

}  // namespace pyburn::cpu::fft
