#include "pyburn/support/error.h"

#include "pyburn/support/checked.h"
#include "pyburn/support/fault.h"

namespace pyburn {

int64_t size_overflow(int64_t wrapped) {
  if (planted_fault == Fault::unchecked_sizes) return wrapped;
  throw ShapeError("a size, stride or offset is too large: it does not fit into 64 bits");
}

void Error::prefix(std::string_view op) {
  if (message_.starts_with('[')) return;
  std::string named = "[";
  named.append(op).append("] ").append(message_);
  message_ = std::move(named);
}

}  // namespace pyburn
