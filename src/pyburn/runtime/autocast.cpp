#include "pyburn/runtime/autocast.h"

#include <unordered_map>
#include <utility>

#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"

namespace pyburn {
namespace {

struct CachedCast {
  TensorHandle parameter, cast;  // the parameter is kept, so that its address stays its own
  uint64_t version;
};
struct ThreadState {
  AutocastMode mode;
  int depth = 0;
  std::unordered_map<const TensorImpl*, CachedCast> cache;
};
ThreadState& state() {
  thread_local ThreadState s;
  return s;
}

TensorHandle cast_to(const TensorHandle& x, DType dtype) {
  InputList in;
  in.add(x);
  return call(op::cast, CastTo{dtype}, in);
}

TensorHandle cached_cast(const TensorHandle& x, DType dtype) {
  ThreadState& s = state();
  if (!s.mode.cache || !x.has(Flag::parameter) || !x.requires_grad()) return cast_to(x, dtype);
  const auto it = s.cache.find(x.impl());
  if (it != s.cache.end() && it->second.version == x.storage()->version() && it->second.cast.dtype() == dtype) return it->second.cast;
  TensorHandle cast = cast_to(x, dtype);
  if (cast.requires_grad()) s.cache[x.impl()] = {x, cast, x.storage()->version()};  // one without history would lose the gradient later
  return cast;
}

}  // namespace

AutocastMode autocast_mode() { return state().mode; }
bool autocast_active() { return state().mode.enabled && !current_level(); }
void clear_autocast_cache() { state().cache.clear(); }

AutocastMode enter_autocast(AutocastMode mode) {
  require<DTypeError>(mode.dtype == DType::float16 || mode.dtype == DType::bfloat16 || mode.dtype == DType::float32,
      "autocast computes in float16, bfloat16 or float32: got {}", mode.dtype);
  ++state().depth;
  return std::exchange(state().mode, mode);
}
void leave_autocast(AutocastMode previous) {
  state().mode = previous;
  if (--state().depth == 0) clear_autocast_cache();
}

TensorHandle autocast(Autocast wanted, const TensorHandle& x) {
  if (!x.defined() || !is_floating(x.dtype()) || x.dtype() == DType::float64) return x;
  const DType dtype = wanted == Autocast::lower ? state().mode.dtype : DType::float32;
  return x.dtype() == dtype ? x : wanted == Autocast::lower ? cached_cast(x, dtype) : cast_to(x, dtype);
}

TensorHandle lowered(const TensorHandle& x) { return autocast_active() ? autocast(Autocast::lower, x) : x; }
DType full_precision(DType d) { return autocast_active() && (d == DType::float16 || d == DType::bfloat16) ? DType::float32 : d; }

}  // namespace pyburn
