// What the machine can do at most: multiply-adds per second, and bytes per second for a mix of reads and writes. Compiled for this
// machine by run.py. Prints one JSON object: {"fma": [1 thread, 2 threads, ...], "bandwidth": {"reads writes": [...]}}.
#include <immintrin.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The best of several runs of body(thread) on `threads` threads at once.
double best(int threads, int runs, const std::function<void(int)>& body) {
  double least = 1e9;
  for (int run = 0; run < runs; ++run) {
    std::atomic<int> ready{0};
    std::vector<double> start(threads), end(threads);
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t)
      pool.emplace_back([&, t] {
        ++ready;
        while (ready < threads) {
        }
        start[t] = now();
        body(t);
        end[t] = now();
      });
    for (auto& t : pool) t.join();
    double first = start[0], last = end[0];
    for (int t = 1; t < threads; ++t) first = std::min(first, start[t]), last = std::max(last, end[t]);
    least = std::min(least, last - first);
  }
  return least;
}

#if defined(__AVX512F__)
using V = __m512;
constexpr int kLanes = 16, kChains = 24;
V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
V load(const float* p) { return _mm512_load_ps(p); }
void store(float* p, V v) { _mm512_store_ps(p, v); }
void stream(float* p, V v) { _mm512_stream_ps(p, v); }
V add(V a, V b) { return _mm512_add_ps(a, b); }
V zero() { return _mm512_setzero_ps(); }
V one() { return _mm512_set1_ps(1.0f); }
#else
using V = __m256;
constexpr int kLanes = 8, kChains = 12;
V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
V load(const float* p) { return _mm256_load_ps(p); }
void store(float* p, V v) { _mm256_store_ps(p, v); }
void stream(float* p, V v) { _mm256_stream_ps(p, v); }
V add(V a, V b) { return _mm256_add_ps(a, b); }
V zero() { return _mm256_setzero_ps(); }
V one() { return _mm256_set1_ps(1.0f); }
#endif

volatile float sink;

double fma_peak(int threads) {
  constexpr long steps = 4'000'000;
  const double seconds = best(threads, 7, [](int) {
    V acc[kChains], a = one(), b = zero();
    for (V& v : acc) v = zero();
    for (long i = 0; i < steps; ++i) {
#pragma GCC unroll 24
      for (V& v : acc) v = fma(a, b, v);
      asm volatile("" : "+x"(a), "+x"(b));
    }
    V total = zero();
    for (V v : acc) total = add(total, v);
    float out[16];
    __builtin_memcpy(out, &total, sizeof(total));
    sink = out[0];
  });
  return 2.0 * kLanes * kChains * steps * threads / seconds;
}

// Bytes per second of reading `reads` arrays and writing `writes`, with plain or streaming stores, whichever is faster.
double bandwidth(int threads, int reads, int writes) {
  const long total = 1L << 25, part = total / threads;  // floats per array
  std::vector<float*> arrays;
  for (int i = 0; i < reads + writes; ++i) {
    arrays.push_back(static_cast<float*>(std::aligned_alloc(1 << 21, total * sizeof(float))));
    madvise(arrays.back(), total * sizeof(float), MADV_HUGEPAGE);  // as pyburn's own memory: small pages cost a third of the bandwidth
    for (long k = 0; k < total; ++k) arrays.back()[k] = 1.0f;
  }
  double least = 1e9;
  for (bool streaming : {false, true}) {
    if (streaming && !writes) break;
    least = std::min(least, best(threads, 5, [&](int t) {
      V total_sum = zero();
      for (long i = t * part; i < (t + 1) * part; i += kLanes) {
        V v = zero();
        for (int r = 0; r < reads; ++r) v = add(v, load(arrays[r] + i));
        for (int w = 0; w < writes; ++w) streaming ? stream(arrays[reads + w] + i, v) : store(arrays[reads + w] + i, v);
        if (!writes) total_sum = add(total_sum, v);
      }
      _mm_sfence();
      float out[16];
      __builtin_memcpy(out, &total_sum, sizeof(total_sum));
      sink = out[0];
    }));
  }
  for (float* p : arrays) std::free(p);
  return double(reads + writes) * total * sizeof(float) / least;
}

}  // namespace

int main(int argc, char** argv) {
  const int most = argc > 1 ? std::atoi(argv[1]) : 2;
  std::printf("{\"fma\": [");
  for (int t = 1; t <= most; ++t) std::printf("%s%.6g", t > 1 ? ", " : "", fma_peak(t));
  std::printf("], \"bandwidth\": {");
  const int mixes[][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}};
  for (int m = 0; m < 4; ++m) {
    std::printf("%s\"%d %d\": [", m ? ", " : "", mixes[m][0], mixes[m][1]);
    for (int t = 1; t <= most; ++t) std::printf("%s%.6g", t > 1 ? ", " : "", bandwidth(t, mixes[m][0], mixes[m][1]));
    std::printf("]");
  }
  std::printf("}}\n");
}
