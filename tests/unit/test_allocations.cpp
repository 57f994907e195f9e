// After warm-up a small operation takes nothing from the heap, with and without a recorded gradient. The counters replace
// malloc for the whole test binary; they only add up while a Count lives on this thread.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/functions.h"
#include "pyburn/start.h"

namespace {
thread_local bool counting = false;
thread_local int64_t taken = 0;
void count() { taken += counting; }
}  // namespace

#if !defined(__SANITIZE_ADDRESS__)  // which has a malloc of its own
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) { return count(), __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) { return count(), __libc_calloc(n, bytes); }
void* realloc(void* p, size_t bytes) { return count(), __libc_realloc(p, bytes); }
void* memalign(size_t align, size_t bytes) { return count(), __libc_memalign(align, bytes); }
void* aligned_alloc(size_t align, size_t bytes) { return count(), __libc_memalign(align, bytes); }
int posix_memalign(void** p, size_t align, size_t bytes) {
  count();
  *p = __libc_memalign(align, bytes);
  return *p ? 0 : 12;  // ENOMEM
}
}

namespace pyburn {
namespace {

struct Count {
  Count() { taken = 0, counting = true; }
  ~Count() { counting = false; }
};

// Calls to the heap by one call of `work`, after enough of them to fill the pools.
template <class Work>
int64_t allocations(Work work) {
  for (int i = 0; i < 100; ++i) work();
  const Count counter;
  for (int i = 0; i < 10; ++i) work();
  return taken;
}

struct Case {
  const char* name;
  void (*work)(const Tensor& a, const Tensor& b);
};
const Case kCases[] = {
    {"add", [](const Tensor& a, const Tensor& b) { add(a, b); }},
    {"add_broadcast", [](const Tensor& a, const Tensor& b) { add(a, select(b, 0, 0)); }},
    {"mul", [](const Tensor& a, const Tensor& b) { mul(a, b); }},
    {"mul_number", [](const Tensor& a, const Tensor&) { mul(a, 2.5); }},
    {"exp", [](const Tensor& a, const Tensor&) { exp(a); }},
    {"sum", [](const Tensor& a, const Tensor&) { sum(a); }},
    {"sum_axis", [](const Tensor& a, const Tensor&) { sum(a, Dims{1}, true); }},
    {"matmul", [](const Tensor& a, const Tensor& b) { matmul(a, b); }},
    {"view", [](const Tensor& a, const Tensor&) { view(a, Dims{16}); }},
    {"reshape", [](const Tensor& a, const Tensor&) { reshape(transpose(a, 0, 1), Dims{16}); }},
    {"slice", [](const Tensor& a, const Tensor&) { slice(a, 0, 1, 3, 1); }},
    {"write_to_a_result", [](const Tensor& a, const Tensor& b) { mul(a, b).add_(b); }},
    {"write_to_a_view", [](const Tensor& a, const Tensor& b) { select(mul(a, b), 0, 1).add_(select(b, 0, 0)); }},
    {"cast", [](const Tensor& a, const Tensor&) { cast(a, DType::float64); }},
    {"promotion",
        [](const Tensor& a, const Tensor&) {
          add(a, ones(Dims{4, 4}, DType::float64, &a.device()));
        }},
    {"detach", [](const Tensor& a, const Tensor&) { a.detach(); }},
};

class Allocations : public ::testing::TestWithParam<Case> {
 protected:
  static Device& started() { return start(), device("cpu"); }
  const DeviceScope scope{started()};
};

TEST_P(Allocations, NoneWithoutAGradient) {
  const Tensor a = ones(Dims{4, 4}), b = ones(Dims{4, 4});
  EXPECT_EQ(allocations([&] { GetParam().work(a, b); }), 0);
}

TEST_P(Allocations, NoneWhileAGradientIsRecorded) {
  const Tensor a = ones(Dims{4, 4}, {}, nullptr, true), b = ones(Dims{4, 4}, {}, nullptr, true);
  EXPECT_EQ(allocations([&] { GetParam().work(a, b); }), 0);
}

INSTANTIATE_TEST_SUITE_P(SmallOperations, Allocations, ::testing::ValuesIn(kCases), [](const auto& info) { return info.param.name; });

TEST(AllocationCounters, See) {
  const Count counter;
  void* volatile plain = malloc(10);  // volatile: or the compiler leaves the pairs out
  int* volatile object = new int(3);
  free(plain);
  delete object;
  EXPECT_EQ(taken, 2);
}

}  // namespace
}  // namespace pyburn
#endif
