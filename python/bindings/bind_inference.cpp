// Graphs and sessions for Python: capture a function, save it, run it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "graph_object.h"
#include "objects.h"
#include "pyburn/graph/drawing.h"
#include "pyburn/graph/multiply_adds.h"
#include "pyburn/graph/passes.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/control_flow.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/inference/operation_cost.h"
#include "pyburn/inference/operation_times.h"
#include "pyburn/inference/profile.h"
#include "pyburn/inference/session.h"
#include "pyburn/support/fault.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

struct CostObject {
  Device* device;
  bool compute;
  std::unique_ptr<OperationCost> cost;
  std::map<const OpInfo*, int64_t> over;  // of the scope that has ended
  const std::map<const OpInfo*, int64_t>& counts() const { return cost ? cost->by_operation() : over; }
};
struct TimesObject {
  Device* device;
  std::unique_ptr<OperationTimes> times;
  std::vector<OperationTime> records;  // of what is over
};
struct SessionObject {
  std::unique_ptr<Session> session;
};
struct ContextObject {
  std::unique_ptr<SessionContext> context;
};

Tensors tensors_of(nb::handle list) {
  Tensors result;
  for (nb::handle t : list) {
    if (!is_tensor(t.ptr()) && planted_fault == Fault::unchecked_casts) throw std::bad_cast();
    if (!is_tensor(t.ptr())) throw nb::type_error(format("[inference] expected a Tensor: got {}", Py_TYPE(t.ptr())->tp_name).c_str());
    result.push_back(unwrap(t.ptr()));
  }
  return result;
}

// A Python function of a tuple of tensors that returns one.
CapturedFunction step_of(nb::handle function) {
  return [function](const Tensors& values) { return tensors_of(function(nb::steal(wrap(values)))); };
}

nb::tuple tuple_of(const Tensors& values) { return nb::tuple(nb::steal(wrap(values))); }

void bind_control_flow(nb::module_& m) {
  m.def("_cond", [](const TensorHandle& pred, nb::handle yes, nb::handle no, nb::handle operands) {
    return tuple_of(cond(pred, step_of(yes), step_of(no), tensors_of(operands)));
  });
  m.def("_as_size", as_size);
  m.def("_while_loop", [](nb::handle condition, nb::handle body, nb::handle carried, int64_t max_iterations) {
    return tuple_of(while_loop(step_of(condition), step_of(body), tensors_of(carried), max_iterations));
  });
  m.def("_scan", [](nb::handle body, nb::handle carried, nb::handle sequences, int64_t dim, bool reverse) {
    return tuple_of(scan(step_of(body), tensors_of(carried), tensors_of(sequences), dim, reverse));
  });
}

// inputs: (shape with -1 for free extents, dtype, name, names of extents, shape of the example); constants: (name, tensor).
GraphObject capture_function(
    nb::handle device, nb::list inputs, nb::object function, nb::list constants, bool simplify, std::vector<std::string> output_names) {
  std::vector<CaptureInput> wanted;
  for (nb::handle input : inputs) {
    CaptureInput& i = wanted.emplace_back();
    i.meta = {to_dims(nb::object(input[0]).ptr()), to_dtype(nb::object(input[1]).ptr())};
    i.name = nb::cast<std::string>(input[2]);
    for (nb::handle name : nb::object(input[3])) i.extents.push_back(nb::cast<std::string>(name));
    i.example = to_dims(nb::object(input[4]).ptr());
  }
  CaptureOptions options{.output_names = std::move(output_names), .simplify = simplify};
  for (nb::handle c : constants) options.constants.emplace_back(nb::cast<std::string>(c[0]), nb::cast<TensorHandle>(c[1]));
  const auto call = [&](const Tensors& values) {
    const nb::object result = function(nb::steal(wrap(values)));
    return tensors_of(result);
  };
  return {capture(to_device(device.ptr()), wanted, call, options)};
}

template <class Runnable>
nb::object run_with(Runnable& runnable, nb::args inputs) {
  const Tensors given = tensors_of(inputs);
  Tensors result;
  {
    const ComputesWith released(true, std::span(given.data(), size_t(given.size())));
    result = runnable.run(std::span<const TensorHandle>(given.data(), size_t(given.size())));
  }
  return nb::steal(result.size() == 1 ? wrap(result[0]) : wrap(result));
}
nb::object run_session(SessionObject& s, nb::args inputs) { return run_with(*s.session, inputs); }

nb::dict state_of(const SessionContext& context) {
  nb::dict named;
  for (const auto& [name, value] : context.state()) named[nb::str(name.c_str())] = nb::cast(value);
  return named;
}

nb::list metas_of(const Graph& g, const std::vector<ValueId>& ids, const std::vector<std::string>& names) {
  nb::list rows;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Meta& m = g.values[size_t(ids[i])];
    nb::list shape;
    for (int64_t d : m.shape) shape.append(d);
    rows.append(nb::make_tuple(i < names.size() ? names[i] : std::string(), nb::tuple(shape), dtype_object(m.dtype)));
  }
  return rows;
}

}  // namespace

void bind_inference(nb::module_& m) {
  nb::class_<GraphObject>(m, "Graph",
      "The operations of a model as a list, without the model's code. Created by `inference.capture`.\n\n>>> graph = "
      "pyburn.inference.capture(lambda x: x.exp() + 1, pyburn.ones(2))\n>>> graph.operations\n['exp', 'add']")
      .def("__len__", [](const GraphObject& g) { return g.graph->nodes.size(); })
      .def("__str__", [](const GraphObject& g) { return to_text(*g.graph); })
      .def("__repr__", [](const GraphObject& g) { return format("<pyburn.Graph of {} operations>", int64_t(g.graph->nodes.size())); })
      .def_prop_ro(
          "inputs", [](const GraphObject& g) { return metas_of(*g.graph, g.graph->inputs, g.graph->input_names); },
          "(name, shape at capture, dtype) of each input.")
      .def_prop_ro(
          "outputs", [](const GraphObject& g) { return metas_of(*g.graph, g.graph->outputs, g.graph->output_names); },
          "(name, shape at capture, dtype) of each output.")
      .def_prop_ro(
          "operations",
          [](const GraphObject& g) {
            nb::list names;
            for (const GraphNode& n : g.graph->nodes) names.append(std::string(n.op.info().name()));
            return names;
          },
          "The names of the operations, in order.")
      .def_prop_ro(
          "multiply_adds", [](const GraphObject& g) { return multiply_adds(*g.graph); },
          "The number of multiply-adds of its products, convolutions and recurrent layers.")
      .def_prop_ro(
          "constants",
          [](const GraphObject& g) {
            nb::dict result;
            for (size_t i = 0; i < g.graph->constants.size(); ++i)
              result[nb::str((i < g.graph->constant_names.size() ? g.graph->constant_names[i] : std::string()).c_str())] =
                  nb::cast(g.graph->constants[i].second);
            return result;
          },
          "The named tensors of the graph.")
      .def(
          "to_graphviz", [](const GraphObject& g) { return to_graphviz(*g.graph); }, "Returns the graph in Graphviz's DOT language.")
      .def(
          "to_svg", [](const GraphObject& g) { return to_svg(*g.graph); },
          "Returns a drawing of the graph as SVG: boxes are operations, lines are values.")
      .def("_repr_svg_", [](const GraphObject& g) { return to_svg(*g.graph); })
      .def("_with_precision",
          [](const GraphObject& g, nb::handle dtype) {
            const DType to = to_dtype(dtype.ptr());
            const GilRelease released;
            return GraphObject{with_precision(*g.graph, to)};
          })
      .def(
          "save", [](const GraphObject& g, const std::string& path) { save_graph(*g.graph, path); }, "path"_a,
          "Saves the graph and its constants to one file.");
  nb::class_<CostObject>(m, "_OperationCost")
      .def("__init__",
          [](CostObject* self, nb::handle device, bool compute) {
            new (self) CostObject{&to_device(device.ptr()), compute, nullptr, {}};
          })
      .def("__enter__",
          [](nb::object self) {
            CostObject& c = nb::cast<CostObject&>(self);
            c.cost = std::make_unique<OperationCost>(*c.device, c.compute);
            return self;
          })
      .def(
          "__exit__",
          [](CostObject& c, nb::handle, nb::handle, nb::handle) {
            if (c.cost) c.over = c.cost->by_operation();
            c.cost.reset();
          },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none())
      .def_prop_ro("multiply_adds",
          [](const CostObject& c) {
            int64_t total = 0;
            for (const auto& [op, count] : c.counts()) total += count;
            return total;
          })
      .def_prop_ro("by_operation", [](const CostObject& c) {
        nb::dict result;
        for (const auto& [op, count] : c.counts()) result[nb::str(std::string(op->name()).c_str())] = count;
        return result;
      });
  nb::class_<TimesObject>(m, "_OperationTimes")
      .def("__init__",
          [](TimesObject* self, nb::handle device) {
            new (self) TimesObject{&to_device(device.ptr()), nullptr, {}};
          })
      .def("__enter__",
          [](nb::object self) {
            TimesObject& t = nb::cast<TimesObject&>(self);
            t.times = std::make_unique<OperationTimes>(*t.device);
            return self;
          })
      .def(
          "__exit__",
          [](TimesObject& t, nb::handle, nb::handle, nb::handle) {
            if (t.times) t.records = t.times->records();
            t.times.reset();
          },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none())
      .def("records", [](const TimesObject& t) {  // (name, start, end, shape of the result)
        nb::list list;
        for (const OperationTime& r : t.records) list.append(nb::make_tuple(std::string(r.info->name()), r.start, r.end, to_text(r.shape)));
        return list;
      });
  m.def("_capture", capture_function);
  m.def("_load_session", [](const std::string& path, nb::handle device) {
    Device& home = to_device(device.ptr());
    const GilRelease released;
    return SessionObject{Session::load(path, home)};
  });
  m.def("_load_graph", [](const std::string& path, nb::handle device) { return GraphObject{load_graph(path, to_device(device.ptr()))}; });

  nb::class_<Profile>(m, "Profile",
      "The result of `Session.profile`: how long each step takes. str() gives a table, slowest steps first.\n\nAttributes:\n    seconds: "
      "The median time of a run.\n    runs: The number of measured runs.\n    steps: A dictionary for each step, in the order in which "
      "they first run.\n\n>>> session = pyburn.inference.compile(pyburn.nn.Linear(2, 3), pyburn.ones(1, 2))\n>>> "
      "session.profile(pyburn.ones(1, "
      "2), runs=3).runs\n3")
      .def("__str__", [](const Profile& p) { return to_text(p); })
      .def("__repr__", [](const Profile& p) { return format("<pyburn.inference.Profile of {} steps>", int64_t(p.steps.size())); })
      .def(
          "table", [](const Profile& p, int rows) { return to_text(p, rows); }, "rows"_a = 30,
          "Returns a table of the slowest steps: time, share, arithmetic per second, and share of the machine's limit.")
      .def("_chrome_trace", [](const Profile& p) { return chrome_trace(p); })
      .def_ro("seconds", &Profile::seconds, "The median time of a run in seconds.")
      .def_ro("runs", &Profile::runs, "The number of measured runs.")
      .def_prop_ro(
          "steps",
          [](const Profile& p) {
            nb::list rows;
            for (const StepProfile& s : p.steps) {
              nb::dict row;
              row["name"] = s.name;
              nb::list shape;
              for (int64_t d : s.shape) shape.append(d);
              row["shape"] = nb::tuple(shape);
              row["seconds"] = s.seconds;
              row["multiply_adds"] = s.multiply_adds;
              row["bytes"] = s.bytes;
              row["limit_share"] = s.limit_share;
              row["calls"] = s.calls.size();
              rows.append(row);
            }
            return rows;
          },
          "A dictionary for each step, in the order in which they run.");

  bind_control_flow(m);
  nb::class_<ContextObject>(m, "SessionContext", "A stream of calls of a session, with a state of its own. Made by session.new_context().")
      .def(
          "__call__", [](ContextObject& c, nb::args inputs) { return run_with(*c.context, inputs); }, "inputs"_a,
          "Runs the session on this context's state; returns a tensor, or a tuple if there are several outputs.")
      .def(
          "reset", [](ContextObject& c) { c.context->reset(); }, "Sets the state to what it was when the session was made.")
      .def_prop_ro(
          "state", [](const ContextObject& c) { return state_of(*c.context); },
          "The tensors that the model writes to, by name, as the calls of this context left them.");
  nb::class_<SessionObject>(m, "Session",
      "A graph prepared to run on a device.\n\nArgs:\n    graph: The graph.\n    device: The device; the default device if None.\n\n>>> "
      "graph = pyburn.inference.capture(lambda x: x * 2, pyburn.ones(2))\n>>> pyburn.inference.Session(graph)(pyburn.tensor([1.0, "
      "4.0]))\ntensor([2., 8.])")
      .def(
          "__init__",
          [](SessionObject* self, const GraphObject& g, nb::handle device) {
            new (self) SessionObject{std::make_unique<Session>(g.graph, device.is_none() ? default_device() : to_device(device.ptr()))};
          },
          "graph"_a, "device"_a.none() = nb::none())
      .def("__call__", run_session, "inputs"_a, "Runs the session; returns a tensor, or a tuple if there are several outputs.")
      .def("run", run_session, "inputs"_a, "Runs the session; returns a tensor, or a tuple if there are several outputs.")
      .def(
          "new_context", [](SessionObject& s) { return ContextObject{s.session->new_context()}; }, nb::keep_alive<0, 1>(),
          "Returns a stream of calls with a state of its own: what the model writes to its buffers is seen by later calls of that context "
          "only.")
      .def(
          "reset", [](SessionObject& s) { s.session->context().reset(); },
          "Sets the state of the session's own calls to what it was when the session was made.")
      .def_prop_ro(
          "state", [](const SessionObject& s) { return state_of(s.session->context()); },
          "The tensors that the model writes to, by name, as the session's own calls left them.")
      .def("_profile",
          [](SessionObject& s, nb::handle inputs, int runs) {
            const Tensors given = tensors_of(inputs);
            const GilRelease released;
            return profile(*s.session, {given.data(), size_t(given.size())}, runs);
          })
      .def("_summary",
          [](SessionObject& s, nb::handle inputs) {
            const Tensors given = tensors_of(inputs);
            const GilRelease released;
            return summary(*s.session, {given.data(), size_t(given.size())});
          })
      .def("_save",
          [](const SessionObject& s, const std::string& path, bool packed) {
            const GilRelease released;
            s.session->save(path, packed);
          })
      .def_prop_ro("graph", [](const SessionObject& s) { return GraphObject{Ref<Graph>(const_cast<Graph*>(&s.session->graph()))}; })
      .def_prop_ro("device", [](const SessionObject& s) { return device_object(s.session->device()); });
}

}  // namespace pyburn::python
