#include "pyburn/runtime/autocast.h"

#include <unordered_map>
#include <utility>

#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/run_observer.h"

namespace pyburn {
namespace {

struct CachedCast {
  TensorHandle parameter, cast;  // the parameter is kept, so that its address stays its own
  uint32_t writes;               // to the parameter until then
};
// Of this thread. The door looks at the mode in every call, so that it must need no start-up code.
constinit thread_local AutocastMode mode;
constinit thread_local int depth = 0;
std::unordered_map<const TensorImpl*, CachedCast>& cache() {
  thread_local std::unordered_map<const TensorImpl*, CachedCast> casts;
  return casts;
}

TensorHandle cast_to(const TensorHandle& x, DType dtype) {
  InputList in;
  in.add(x);
  return call(op::cast, CastTo{dtype}, in);
}

TensorHandle cached_cast(const TensorHandle& x, DType dtype) {
  if (!mode.cache || !x.has(Flag::parameter) || !x.requires_grad()) return cast_to(x, dtype);
  const auto it = cache().find(x.impl());
  if (it != cache().end() && it->second.writes == x.storage()->writes() && it->second.cast.dtype() == dtype) return it->second.cast;
  TensorHandle cast = cast_to(x, dtype);
  if (cast.requires_grad()) cache()[x.impl()] = {x, cast, x.storage()->writes()};  // one without history would lose the gradient later
  return cast;
}

}  // namespace

AutocastMode autocast_mode() { return mode; }
bool autocast_active() {
  if (!mode.enabled) return false;
  const Backend* level = current_level();
  return !level || (run_observer() && run_observer()->is_top(*level));
}
void clear_autocast_cache() { cache().clear(); }

AutocastMode enter_autocast(AutocastMode next) {
  require<DTypeError>(next.dtype == DType::float16 || next.dtype == DType::bfloat16 || next.dtype == DType::float32,
      "autocast computes in float16, bfloat16 or float32: got {}", next.dtype);
  ++depth;
  return std::exchange(mode, next);
}
void leave_autocast(AutocastMode previous) {
  mode = previous;
  if (--depth == 0) clear_autocast_cache();
}

TensorHandle autocast(Autocast wanted, const TensorHandle& x) {
  if (!x.defined() || !is_floating(x.dtype()) || x.dtype() == DType::float64) return x;
  const DType dtype = wanted == Autocast::lower ? mode.dtype : DType::float32;
  return x.dtype() == dtype ? x : wanted == Autocast::lower ? cached_cast(x, dtype) : cast_to(x, dtype);
}

TensorHandle lowered(const TensorHandle& x) { return autocast_active() ? autocast(Autocast::lower, x) : x; }
TensorHandle widened(const TensorHandle& x) { return autocast_active() ? autocast(Autocast::full, x) : x; }
DType full_precision(DType d) { return autocast_active() && (d == DType::float16 || d == DType::bfloat16) ? DType::float32 : d; }

}  // namespace pyburn
