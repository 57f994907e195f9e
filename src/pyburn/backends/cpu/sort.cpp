// Sorting, the largest few, the k-th element, medians and modes: a line along the axis at a time, lines in parallel.
#include "pyburn/ops/sort.h"

#include <utility>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/sort_keys.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Calls choose(line, stride, n, entries, spare) for each line of x; it says with entries[0..results) which elements are the
// results, in order. They become values and indices.
template <class Choose>
void for_lines(const TensorHandle& x_, int64_t dim, int64_t results, Outputs out, Choose choose) {
  const DType compute = compute_dtype(x_.dtype());
  const TensorHandle x = plain(x_, compute);
  const PlainTarget values(out[0], compute), indices(out[1], DType::int64);
  const Axis axis(x.shape(), dim);
  const int64_t n = axis.extent, inner = axis.inner;
  if (n == 0 || results == 0) return;
  with_compute_type(compute, [&]<class T>(T*) {
    parallel_for(axis.outer * inner, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
      ScratchBuffer<Entry<KeyOf<T>>> entries(n), spare(n);
      for (int64_t i = begin; i < end; ++i) {
        const T* line = x.data<T>() + i / inner * n * inner + i % inner;
        choose(line, inner, n, entries.data(), spare.data());
        const int64_t to = i / inner * results * inner + i % inner;
        for (int64_t k = 0; k < results; ++k) {
          const int64_t at = entries.data()[k].at;
          values.data<T>()[to + k * inner] = line[at * inner];
          indices.data<int64_t>()[to + k * inner] = at;
        }
      }
    });
  });
  values.finish();
  indices.finish();
}

// A line that no cache of a core holds: put into buckets by the first digit in which keys differ, by all threads; a bucket then fits.
template <class T>
void sort_long_line(const T* line, int64_t n, bool flip, T* values, int64_t* positions) {
  using K = KeyOf<T>;
  constexpr int64_t kParts = 32;  // of the line: what is counted and moved together
  constexpr int kBits = 8, kBuckets = 1 << kBits;
  const K mask = flip ? K(~K(0)) : K(0);
  auto key_at = [&](int64_t i) { return K(key_of(line[i]) ^ mask); };
  auto for_parts = [&](auto body) {
    parallel_for(kParts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) body(part, n * part / kParts, n * (part + 1) / kParts);
    });
  };
  K differences[kParts];
  for_parts([&](int64_t part, int64_t begin, int64_t end) {
    const K first = key_at(0);
    K different = 0;
    for (int64_t i = begin; i < end; ++i) different |= key_at(i) ^ first;
    differences[part] = different;
  });
  K different = 0;
  for (K d : differences) different |= d;
  const int shift = std::max(int(std::bit_width(different)) - kBits, 0);
  std::vector<uint32_t> places(kParts * kBuckets);
  for_parts([&](int64_t part, int64_t begin, int64_t end) {
    uint32_t* count = places.data() + part * kBuckets;
    for (int64_t i = begin; i < end; ++i) ++count[key_at(i) >> shift & (kBuckets - 1)];
  });
  uint32_t first[kBuckets + 1], sum = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    first[bucket] = sum;
    for (int64_t part = 0; part < kParts; ++part) sum += std::exchange(places[size_t(part * kBuckets + bucket)], sum);
  }
  first[kBuckets] = sum;
  ScratchBuffer<Entry<K>> entries(n), spare(n);
  for_parts([&](int64_t part, int64_t begin, int64_t end) {
    uint32_t* place = places.data() + part * kBuckets;
    for (int64_t i = begin; i < end; ++i) {
      const K key = key_at(i);
      entries.data()[place[key >> shift & (kBuckets - 1)]++] = {key, uint32_t(i)};
    }
  });
  parallel_for(kBuckets, 1, [&](int64_t bucket, int64_t) {
    const int64_t begin = first[bucket], count = first[bucket + 1] - begin;
    if (!count) return;
    Entry<K>* sorted = entries.data() + begin;
    if (count < kFewEntries<K>) std::sort(sorted, sorted + count);
    else sorted = sort_by_digits(sorted, spare.data() + begin, count, shift);
    for (int64_t i = 0; i < count; ++i) {
      const Entry<K> e = sorted[i];
      const K key = e.key ^ mask;
      values[begin + i] = is_unique<T>(key) ? value_of_key<T>(key) : line[e.at];
      positions[begin + i] = e.at;
    }
  });
}

void sort(const Sort& a, Inputs in, Outputs out) {
  const Axis axis(in[0]->shape(), a.dim);
  const int64_t n = axis.extent;
  if (n >= (1 << 17) && axis.inner == 1) {
    const DType compute = compute_dtype(in[0]->dtype());
    const TensorHandle x = plain(*in[0], compute);
    const PlainTarget values(out[0], compute), positions(out[1], DType::int64);
    with_compute_type(compute, [&]<class T>(T*) {
      for (int64_t at = 0; at < x.numel(); at += n)
        sort_long_line(x.data<T>() + at, n, a.descending, values.data<T>() + at, positions.data<int64_t>() + at);
    });
    values.finish();
    return positions.finish();
  }
  for_lines(*in[0], a.dim, n, out, [&](const auto* line, int64_t stride, int64_t count, auto* entries, auto* spare) {
    make_entries(line, stride, count, a.descending, entries);
    sort_entries(entries, spare, count);
  });
}

// The k smallest entries of a line, in order, in one pass: few elements get past the worst of the best so far. Those that do are
// put in their place where k is small; else they are gathered, and thinned out to the best k whenever there are too many.
template <class T>
void best_few(const T* line, int64_t stride, int64_t n, bool flip, int64_t k, Entry<KeyOf<T>>* best) {
  constexpr int64_t kBlock = 16;
  const int64_t room = std::min(n, 4 * k);
  const bool ordered = k <= 32;
  const KeyOf<T> mask = flip ? KeyOf<T>(~KeyOf<T>(0)) : KeyOf<T>(0);
  make_entries(line, stride, k, flip, best);
  KeyOf<T> worst = 0;
  T bound = T(0);
  int64_t count = k;
  auto note_worst = [&] {
    worst = best[k - 1].key;
    bound = line[best[k - 1].at * stride];
  };
  auto thin_out = [&] {
    std::nth_element(best, best + k - 1, best + count);
    count = k;
    note_worst();
  };
  thin_out();
  if (ordered) std::sort(best, best + k);
  auto offer = [&](int64_t i) {
    const Entry<KeyOf<T>> e{KeyOf<T>(key_of(line[i * stride]) ^ mask), uint32_t(i)};
    if (e.key >= worst) return;
    if (ordered) {
      int64_t at = k - 1;
      for (; at > 0 && e < best[at - 1]; --at) best[at] = best[at - 1];
      best[at] = e;
      note_worst();
    } else {
      best[count++] = e;
      if (count == room) thin_out();
    }
  };
  int64_t i = k;
  for (; i + kBlock <= n; i += kBlock) {  // most blocks hold nothing better, which a loop of comparisons finds out; NaN is always offered
    int32_t hopeful = 0;
    const T* p = line + i * stride;
    if (stride == 1 && flip)
      for (int64_t j = 0; j < kBlock; ++j) hopeful |= !(p[j] <= bound);
    else if (stride == 1)
      for (int64_t j = 0; j < kBlock; ++j) hopeful |= !(p[j] >= bound);
    else hopeful = 1;
    for (int64_t j = 0; hopeful && j < kBlock; ++j) offer(i + j);
  }
  for (; i < n; ++i) offer(i);
  if (ordered) return;
  thin_out();
  std::sort(best, best + k);
}

void topk(const TopK& a, Inputs in, Outputs out) {
  for_lines(*in[0], a.dim, a.k, out, [&](const auto* line, int64_t stride, int64_t n, auto* entries, auto*) {
    if (a.k * 8 <= n) return best_few(line, stride, n, a.largest, a.k, entries);
    make_entries(line, stride, n, a.largest, entries);
    if (a.k < n) std::nth_element(entries, entries + a.k - 1, entries + n);
    std::sort(entries, entries + a.k);
  });
}

// The element of rank k (from 0) in front.
template <class E>
void bring_forward(E* entries, int64_t n, int64_t k) {
  std::nth_element(entries, entries + k, entries + n);
  entries[0] = entries[k];
}

void kthvalue(const KthValue& a, Inputs in, Outputs out) {
  for_lines(*in[0], a.dim, 1, out, [&](const auto* line, int64_t stride, int64_t n, auto* entries, auto*) {
    make_entries(line, stride, n, false, entries);
    bring_forward(entries, n, a.k - 1);
  });
}

template <bool ignores_nan>
void median(const ArgReduce& a, Inputs in, Outputs out) {
  for_lines(*in[0], a.dim, 1, out, [&](const auto* line, int64_t stride, int64_t n, auto* entries, auto*) {
    make_entries(line, stride, n, false, entries);
    int64_t numbers = 0, first_nan = n;
    for (int64_t i = 0; i < n; ++i) {
      const bool number = line[i * stride] == line[i * stride];
      numbers += number;
      if (!number) first_nan = std::min(first_nan, i);
    }
    if (numbers == 0 || (!ignores_nan && numbers < n)) entries[0] = entries[first_nan];
    else bring_forward(entries, n, (numbers - 1) / 2);
  });
}

void mode(const ArgReduce& a, Inputs in, Outputs out) {
  for_lines(*in[0], a.dim, 1, out, [&](const auto* line, int64_t stride, int64_t n, auto* entries, auto* spare) {
    make_entries(line, stride, n, false, entries);
    sort_entries(entries, spare, n);
    int64_t longest = 0, last = 0;
    for (int64_t begin = 0, end = 0; begin < n; begin = end) {
      while (end < n && entries[end].key == entries[begin].key) ++end;
      if (end - begin > longest) {
        longest = end - begin;
        last = end - 1;
      }
    }
    entries[0] = entries[last];
  });
}

}  // namespace

void register_sort(KernelTable& kernels) {
  kernels.add_for_all<sort>(op::sort);
  kernels.add_for_all<topk>(op::topk);
  kernels.add_for_all<kthvalue>(op::kthvalue);
  kernels.add_for_all<median<false>>(op::median_dim);
  kernels.add_for_all<median<true>>(op::nanmedian_dim);
  kernels.add_for_all<mode>(op::mode);
}

}  // namespace pyburn::cpu
