#include "pyburn/inference/capture.h"

#include "pyburn/backends/null/null_backend.h"
#include "pyburn/decorators/trace/trace.h"
#include "pyburn/graph/extents.h"
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

std::vector<FreeAxis> free_axes_of(const std::vector<CaptureInput>& inputs, std::vector<FreeExtent>& extents) {
  std::vector<FreeAxis> axes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CaptureInput& input = inputs[i];
    for (int axis = 0; axis < input.meta.shape.rank(); ++axis) {
      if (input.meta.shape[axis] != -1) continue;
      const std::string name =
          size_t(axis) < input.extents.size() && !input.extents[size_t(axis)].empty() ? input.extents[size_t(axis)] : "n";
      const int64_t example = axis < input.example.rank() ? input.example[axis] : 0;
      size_t k = 0;
      while (k < extents.size() && extents[k].name != name) ++k;
      if (k == extents.size()) extents.push_back({name, example});
      require<ValueError>(extents[k].example == example, "[capture] the examples disagree about the dynamic size '{}': got {} and {}", name,
          extents[k].example, example);
      axes.push_back({int32_t(i), axis, int32_t(k)});
    }
  }
  return axes;
}

Ref<Graph> capture_at(Device& device, const std::vector<CaptureInput>& inputs, const CapturedFunction& function,
    const CaptureOptions& options, std::span<const FreeAxis> axes, std::span<const int64_t> sizes) {
  const KeepGenerator keep;
  const Ref<Backend> null(new NullBackend(Ref<Backend>(&device.leaf())));
  const Ref<Trace> trace = make_ref<Trace>(null);
  Tensors tensors;
  std::vector<std::string> names;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const CaptureInput& i = inputs[k];
    Shape shape = i.meta.shape;
    for (const FreeAxis& f : axes)
      if (size_t(f.input) == k) shape[f.axis] = sizes[size_t(f.extent)];
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
  std::vector<FreeExtent> extents;
  const std::vector<FreeAxis> axes = free_axes_of(inputs, extents);
  auto at = [&](std::span<const int64_t> sizes) { return capture_at(device, inputs, function, options, axes, sizes); };
  const Ref<Graph> graph = axes.empty() ? at({}) : with_free_extents(at, extents, axes);
  return options.simplify ? simplify(*graph) : graph;
}

}  // namespace pyburn
