#include "pyburn/inference/capture.h"

#include <exception>
#include <optional>

#include "pyburn/backends/null/null_backend.h"
#include "pyburn/decorators/trace/trace.h"
#include "pyburn/graph/extents.h"
#include "pyburn/graph/passes.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/support/error.h"

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

// Sizes of extents that follow from values, at the first capture.
struct Invented {
  size_t free;  // extents that do not
  int64_t first, step;
  bool any = false;  // was one needed?
};

Ref<Graph> capture_at(Device& device, const std::vector<CaptureInput>& inputs, const CapturedFunction& function,
    const CaptureOptions& options, std::span<const FreeAxis> axes, Invented& invented, std::span<const int64_t> sizes) {
  size_t unknown = 0;
  const auto unknown_extent = [&]() -> int64_t {
    const size_t number = unknown++;
    invented.any = true;
    return invented.free + number < sizes.size() ? sizes[invented.free + number] : invented.first + invented.step * int64_t(number);
  };
  const Ref<Backend> null(new NullBackend(Ref<Backend>(&device.leaf()), unknown_extent));
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
  Recording recording(*trace, tensors, std::move(names), options.is_inside);
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
  const auto with = [&](Invented& invented) {
    const auto at = [&](std::span<const int64_t> sizes) {
      std::optional<KeepGenerator> keep;
      if (!options.is_inside) keep.emplace();
      return capture_at(device, inputs, function, options, axes, invented, sizes);
    };
    return with_free_extents(at, extents, axes);
  };
  // Small sizes, which are cut off nowhere, then such that are divided without a remainder. Several, because a size may happen to be that
  // of a dimension: a view of all of it is no operation.
  Ref<Graph> graph;
  std::exception_ptr first_error;
  for (const auto [first, step] : {std::pair<int64_t, int64_t>{4, 1}, {2, 1}, {7, 1}, {kDivisible, kDivisible}}) {
    Invented invented{extents.size(), first, step};
    try {
      graph = with(invented);
      break;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception&) {
      if (!first_error) first_error = std::current_exception();
      if (!invented.any) break;
    }
  }
  if (!graph) std::rethrow_exception(first_error);
  return options.simplify ? simplify(*graph) : graph;
}

}  // namespace pyburn
