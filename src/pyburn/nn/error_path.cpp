#include "pyburn/nn/error_path.h"

#include <utility>

#include "pyburn/support/error.h"
#include "pyburn/support/format.h"

namespace pyburn::nn {
namespace {

// in_features -> out_features, in_channels -> out_channels
struct InAndOut final : FieldVisitor {
  using FieldVisitor::field;
  void field(std::string_view name, int64_t v) override {
    if (name.starts_with("in_")) in = v;
    if (name.starts_with("out_")) out = v;
  }
  void field(std::string_view, bool) override {}
  void field(std::string_view, double) override {}
  void field(std::string_view, const std::string&) override {}
  void field(std::string_view, DType) override {}
  void field(std::string_view, const Dims&) override {}
  void field(std::string_view, const Scalar&) override {}
  void field(std::string_view, const std::optional<Scalar>&) override {}
  void field(std::string_view, const Ref<Graph>&) override {}
  int64_t in = -1, out = -1;
};

// An error is thrown once and passes through the calls around it, so one record per thread is enough.
struct Record {
  const Error* error = nullptr;
  std::string text;  // the message at that time: another error may have the same address later
  ErrorOrigin origin;
};
thread_local Record record;

// "[linear] expected ..." without a function that is named like the layer.
std::string_view without_function(std::string_view message, std::string_view layer) {
  const size_t end = message.find("] ");
  if (!message.starts_with('[') || end == message.npos) return message;
  const auto plain = [](std::string_view name) {
    std::string letters;
    for (char c : name)
      if (c != '_') letters += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return letters;
  };
  return plain(message.substr(1, end - 1)) == plain(layer.substr(0, layer.find(' '))) ? message.substr(end + 2) : message;
}
bool is_of(const Error& error) { return record.error == &error && record.text == error.what(); }

}  // namespace

ErrorOrigin origin_of(Module& module, std::string message) {
  InAndOut sizes;
  const AnyConfig config = module.config();
  config.type->visit(config.fields, sizes);
  const std::string name = module.display_name();
  return {&module, sizes.in < 0 || sizes.out < 0 ? name : format("{} {} → {}", name, sizes.in, sizes.out), std::move(message)};
}

std::string message_at(Module& module, const ErrorOrigin& origin) {
  for (const auto& [path, part] : module.named_modules())
    if (part.get() == origin.module && !path.empty())
      return format("in {}.{} ({}): {}", module.display_name(), path, origin.layer, without_function(origin.message, origin.layer));
  return {};
}

ErrorOrigin take_origin(const Error& error) { return is_of(error) ? std::exchange(record, {}).origin : ErrorOrigin(); }

void Module::say_where(Error& error) {
  if (dynamic_cast<const Interrupted*>(&error)) return;
  if (is_of(error)) {
    const std::string message = message_at(*this, record.origin);
    if (!message.empty()) error = Error(message);  // the kind of the error stays
  } else {
    record.origin = origin_of(*this, error.what());
  }
  record.error = &error;
  record.text = error.what();
}

}  // namespace pyburn::nn
