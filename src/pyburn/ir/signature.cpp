#include "pyburn/ir/signature.h"

#include <algorithm>

#include "pyburn/ir/schema.h"
#include "pyburn/support/error.h"

namespace pyburn {

void check_signature(OpRef op, std::span<const bool> given, int64_t outputs) {
  const OpInfo& info = *op.info;
  auto require_fit = [&](bool ok) {
    if (!ok) fail<FormatError>("[{}] wrong number of tensors: got {} inputs and {} outputs", info.name(), int64_t(given.size()), outputs);
  };
  const int64_t expected = result_count(info.schema);
  require_fit(expected == -1 ? outputs > 0 : outputs == expected);
  // Number attributes may replace operands, but not all of them; inference checks which, and how many.
  size_t tensors = 0, operands = 0, next = 0;
  SchemaParameters counted(info.schema);
  for (SchemaParameter p; counted.next(p);) {
    tensors += takes_tensors(p.type);
    operands += p.type == ParameterType::operand;
  }
  require_fit(operands == 0 || !given.empty());
  size_t numbers = operands && given.size() < tensors ? std::min(operands, tensors - given.size()) : 0;
  SchemaParameters parameters(info.schema);
  for (SchemaParameter p; parameters.next(p);) {
    if (p.type == ParameterType::tensors) {
      for (; next < given.size(); ++next) require_fit(given[next]);
    } else if (p.type == ParameterType::operand && numbers > 0) {
      --numbers;
    } else if (takes_tensors(p.type)) {
      require_fit(next < given.size() && (given[next] || p.type == ParameterType::optional_tensor));
      ++next;
    }
  }
  require_fit(next == given.size());
}

}  // namespace pyburn
