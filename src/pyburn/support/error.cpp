#include "pyburn/support/error.h"

#include <limits>
#include <new>

#include "pyburn/support/checked.h"
#include "pyburn/support/fault.h"
#include "pyburn/support/small_vector.h"

namespace pyburn {

static volatile int64_t volatile_one = 1;

int64_t size_overflow(int64_t wrapped) {
  if (planted_fault == Fault::unchecked_sizes) {
    [[maybe_unused]] const volatile int64_t reported = std::numeric_limits<int64_t>::max() + volatile_one;  // for UBSan
    return wrapped;
  }
  throw ShapeError("a size, stride or offset is too large: it does not fit into 64 bits");
}

void small_vector_overflow() {
  if (planted_fault != Fault::unchecked_sizes) throw std::bad_alloc();
}

void Error::prefix(std::string_view op) {
  if (message_.starts_with('[')) return;
  std::string named = "[";
  named.append(op).append("] ").append(message_);
  message_ = std::move(named);
}

}  // namespace pyburn
