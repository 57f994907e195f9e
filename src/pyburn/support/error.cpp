#include "pyburn/support/error.h"

namespace pyburn {

void Error::prefix(std::string_view op) {
  if (message_.starts_with('[')) return;
  std::string named = "[";
  named.append(op).append("] ").append(message_);
  message_ = std::move(named);
}

}  // namespace pyburn
