#include "pyburn/inference/capture.h"

#include "pyburn/backends/null/null_backend.h"
#include "pyburn/decorators/trace/trace.h"
#include "pyburn/graph/free_extent.h"
#include "pyburn/graph/passes.h"
#include "pyburn/runtime/generator.h"

namespace pyburn {
namespace {

// Capturing draws no numbers: the generator is left as it was found, and each size finds it the same.
class KeepGenerator {
 public:
  KeepGenerator() : state_(default_generator().state()) {}
  ~KeepGenerator() { default_generator().set_state(state_); }

 private:
  RandomState state_;
};

Ref<Graph> capture_at(
    Device& device, const std::vector<CaptureInput>& inputs, const CapturedFunction& function, const CaptureOptions& options, int64_t n) {
  const KeepGenerator keep;
  const Ref<Backend> null(new NullBackend(Ref<Backend>(&device.leaf())));
  const Ref<Trace> trace = make_ref<Trace>(null);
  Tensors tensors;
  std::vector<std::string> names;
  for (const CaptureInput& i : inputs) {
    Shape shape = i.meta.shape;
    for (int64_t& d : shape)
      if (d == -1) d = n;
    const int64_t elements = checked_numel(shape);
    tensors.push_back(make_tensor(device, i.meta.dtype, contiguous_layout(shape), null->allocate(i.meta.dtype, elements)));
    names.push_back(i.name);
  }
  Recording recording(*trace, tensors, std::move(names));
  for (const auto& [name, tensor] : options.constants) trace->name_constant(tensor, name);
  const Tensors outputs = function(tensors);
  require<ValueError>(options.output_names.empty() || int64_t(options.output_names.size()) == outputs.size(),
      "[capture] wrong number of output names: got {} for {}", int64_t(options.output_names.size()), outputs.size());
  return recording.finish(outputs, options.output_names);
}

}  // namespace

Ref<Graph> capture(
    Device& device, const std::vector<CaptureInput>& inputs, const CapturedFunction& function, const CaptureOptions& options) {
  bool free = false;
  for (const CaptureInput& i : inputs)
    for (int64_t d : i.meta.shape) free |= d == -1;
  auto at = [&](int64_t n) { return capture_at(device, inputs, function, options, n); };
  const Ref<Graph> graph = free ? with_free_extent(at) : at(0);
  return options.simplify ? simplify(*graph) : graph;
}

}  // namespace pyburn
