#include "pyburn/support/error.h"

#include <limits>
#include <new>
#include <utility>

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
  throw ShapeError("a size, stride or offset overflows 64 bits");
}

void small_vector_overflow() {
  if (planted_fault != Fault::unchecked_sizes) throw std::bad_alloc();
}

// Users do not call the building blocks of functions: messages name the function. An underscore in front marks most of them.
static std::string_view public_name(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"_border_pad", "pad"}, {"attention", "scaled_dot_product_attention"}, {"class_loss", "cross_entropy"}, {"distinct", "unique"}};
  for (const auto& [part, whole] : kParts)
    if (op == part) return whole;
  return op.starts_with('_') ? op.substr(1) : op;
}

void Error::prefix(std::string_view op) {
  if (message_.starts_with('[')) return;
  op = public_name(op);
  std::string named = "[";
  named.append(op).append("] ").append(message_);
  message_ = std::move(named);
}

}  // namespace pyburn
