// Training steps for Python: recordings and compiled steps.
#include <nanobind/stl/string.h>

#include "objects.h"
#include "pyburn/inference/compiled_step.h"
#include "pyburn/inference/profile.h"
#include "pyburn/nn/module_changes.h"
#include "pyburn/runtime/run.h"
#include "step_objects.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

Tensors tensors_of(nb::handle list) {
  Tensors result;
  for (nb::handle t : list) {
    if (!is_tensor(t.ptr())) throw nb::type_error(format("[compile] expected a Tensor: got {}", Py_TYPE(t.ptr())->tp_name).c_str());
    result.push_back(unwrap(t.ptr()));
  }
  return result;
}
std::span<const TensorHandle> span_of(const Tensors& t) { return {t.data(), size_t(t.size())}; }

struct StepObject {
  Ref<RecordedStep> step;
};
struct RecordingObject {
  std::unique_ptr<StepRecording> recording;
};
struct CompiledObject {
  std::unique_ptr<CompiledStep> step;
};

nb::object run(CompiledObject& c, nb::handle inputs, nb::handle optimizer_steps) {
  const Tensors given = tensors_of(inputs);
  std::vector<Operation> steps;
  for (nb::handle op : optimizer_steps) steps.push_back(nb::cast<OperationObject&>(op).op);
  Tensors results;
  {
    const ComputesWith released(true, span_of(given));
    results = c.step->run(span_of(given), steps);
  }
  return nb::steal(wrap(results));
}

}  // namespace

void bind_steps(nb::module_& m) {
  nb::class_<OperationObject>(m, "_Operation").def("__repr__", [](const OperationObject& o) { return to_text(o.op.ref()); });
  m.def("_module_changes", [] { return nn::module_changes().load(); });
  m.def("_note_module_change", nn::note_module_change);
  m.def("_runs_at_top", [] { return current_level() == nullptr; });
  nb::class_<StepObject>(m, "_RecordedStep").def_prop_ro("operations", [](const StepObject& s) {
    nb::list names;
    if (s.step->graph)
      for (const GraphNode& n : s.step->graph->nodes) names.append(std::string(n.op.info().name()));
    return names;
  });
  nb::class_<RecordingObject>(m, "_StepRecording")
      .def("__init__",
          [](RecordingObject* self, nb::handle device, nb::handle inputs, nb::object line) {
            const Tensors given = tensors_of(inputs);
            // Operations may run without the GIL; the recording itself, and with it the function, ends with it.
            const auto calling_line = [line] {
              const GilAcquire gil;
              return nb::cast<std::string>(line());
            };
            new (self) RecordingObject{std::make_unique<StepRecording>(to_device(device.ptr()), span_of(given), calling_line)};
          })
      .def("refuse", [](RecordingObject& r, std::string why) { r.recording->refuse(std::move(why)); })
      .def_prop_ro("optimizer_steps", [](const RecordingObject& r) { return r.recording->optimizer_steps(); })
      .def_prop_ro("reason", [](const RecordingObject& r) { return r.recording->reason(); })
      .def("cancel", [](RecordingObject& r) { r.recording.reset(); })
      .def("finish", [](RecordingObject& r, nb::handle results) -> nb::object {
        const Tensors made = tensors_of(results);
        Ref<RecordedStep> step = r.recording->finish(span_of(made));
        return step ? nb::cast(StepObject{std::move(step)}) : nb::none();
      });
  m.def("_step_difference", [](const StepObject& a, const StepObject& b) { return difference(*a.step, *b.step); });
  nb::class_<CompiledObject>(m, "_CompiledStep")
      .def("__init__",
          [](CompiledObject* self, StepObject& step, const StepObject& again) {
            const GilRelease released;
            new (self) CompiledObject{std::make_unique<CompiledStep>(step.step, *again.step)};
          })
      .def("fits",
          [](const CompiledObject& c, nb::handle inputs) {
            const Tensors given = tensors_of(inputs);
            return c.step->fits(span_of(given));
          })
      .def_prop_ro("optimizer_steps", [](const CompiledObject& c) { return c.step->optimizer_steps(); })
      .def_prop_ro("operations",
          [](const CompiledObject& c) {
            nb::list rows;
            for (const LoweredNode& n : c.step->program().program().nodes)
              rows.append(nb::make_tuple(name_of(n.op), n.out.empty() ? std::string() : to_text(n.out[0].layout.shape)));
            return rows;
          })
      .def_prop_ro("memory", [](const CompiledObject& c) { return c.step->program().memory().bytes; })
      .def("run", run);
}

}  // namespace pyburn::python
