#include "pyburn/ir/signature.h"

#include <algorithm>

#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// "conv2d(Tensor input, Tensor? bias=None, ...) -> Tensor": the types of the parameters, one by one.
class Parameters {
 public:
  explicit Parameters(std::string_view schema) : rest_(schema.substr(schema.find('(') + 1)) { rest_ = rest_.substr(0, rest_.find(')')); }
  bool next(std::string_view& type) {
    if (rest_.empty()) return false;
    const size_t comma = rest_.find(", ");
    type = rest_.substr(0, std::min(rest_.find(' '), comma));
    rest_.remove_prefix(comma == rest_.npos ? rest_.size() : comma + 2);
    return true;
  }

 private:
  std::string_view rest_;
};

int64_t outputs_of(std::string_view schema) {  // -1: any number
  const std::string_view result = schema.substr(schema.find("->"));
  if (result.find("[]") != result.npos) return -1;
  return 1 + std::count(result.begin(), result.end(), ',');
}

}  // namespace

void check_signature(OpRef op, std::span<const bool> given, int64_t outputs) {
  const OpInfo& info = *op.info;
  auto require_fit = [&](bool ok) {
    if (!ok) fail<FormatError>("[{}] wrong number of tensors: got {} inputs and {} outputs", info.name(), int64_t(given.size()), outputs);
  };
  const int64_t expected = outputs_of(info.schema);
  require_fit(expected == -1 ? outputs > 0 : outputs == expected);
  // Numbers among the attributes may stand for operands, but not for all; which, and how many, is for inference to check.
  size_t tensors = 0, operands = 0, next = 0;
  Parameters counted(info.schema);
  for (std::string_view type; counted.next(type);) {
    tensors += type.starts_with("Tensor");
    operands += type == "Tensor|Scalar";
  }
  require_fit(operands == 0 || !given.empty());
  size_t numbers = operands && given.size() < tensors ? std::min(operands, tensors - given.size()) : 0;
  Parameters parameters(info.schema);
  for (std::string_view type; parameters.next(type);) {
    if (type == "Tensor[]") {
      for (; next < given.size(); ++next) require_fit(given[next]);
    } else if (type == "Tensor|Scalar" && numbers > 0) {
      --numbers;
    } else if (type == "Tensor" || type == "Tensor|Scalar") {
      require_fit(next < given.size() && given[next]);
      ++next;
    } else if (type == "Tensor?") {
      require_fit(next < given.size());
      ++next;
    }
  }
  require_fit(next == given.size());
}

}  // namespace pyburn
