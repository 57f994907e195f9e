// Learning-rate schedules.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "objects.h"
#include "pyburn/optim/rate_plot.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
void bind_schedule(nb::module_& m) {
  using optim::Schedule;
  nb::module_ o = nb::cast<nb::module_>(m.attr("_optim"));
  nb::class_<Schedule> s(o, "Schedule",
      "A learning rate as a function of the step. Schedules multiply, add and follow each other; ScheduledLR gives them to an "
      "optimiser.\n\n"
      ">>> from pyburn.lr_scheduler import Schedule\n"
      ">>> rate = Schedule.linear(0.0, 1.0, steps=4) * Schedule.constant(0.5)\n"
      ">>> rate(2)\n"
      "0.25\n");
  s.def("__call__", &Schedule::operator(), "step"_a, "The learning rate at a step.");
  s.def_static("constant", &Schedule::constant, "rate"_a, "The same rate at every step.");
  s.def_static("linear", &Schedule::linear, "initial"_a, "final"_a, "steps"_a, "A straight line, and its end from there on.");
  s.def_static("cosine", &Schedule::cosine, "initial"_a, "smallest"_a = 0.0, "steps"_a, "Half a wave down, and up again.");
  s.def_static("exponential", &Schedule::exponential, "initial"_a, "gamma"_a, "initial times gamma to the power of the step.");
  s.def_static("step", &Schedule::step, "initial"_a, "step_size"_a, "gamma"_a = 0.1, "Times gamma every step_size steps.");
  s.def_static("noam", &Schedule::noam, "factor"_a, "warmup_steps"_a = 4000, "model_size"_a = 512,
      "Up in a line, then down with the root of the step.");
  s.def_static("multi_step", &Schedule::multi_step, "milestones"_a, "gamma"_a = 0.1, "A factor: gamma for each milestone passed.");
  s.def_static("constant_factor", &Schedule::constant_factor, "factor"_a = 1.0 / 3, "total_iters"_a = 5, "A factor, then 1.");
  s.def_static("linear_factor", &Schedule::linear_factor, "start"_a = 1.0 / 3, "end"_a = 1.0, "total_iters"_a = 5, "A factor in a line.");
  s.def_static("polynomial", &Schedule::polynomial, "total_iters"_a = 5, "power"_a = 1.0, "A factor from 1 to 0 along a power.");
  s.def_static("cosine_restarts", &Schedule::cosine_restarts, "initial"_a, "smallest"_a, "first_period"_a, "period_factor"_a = 1,
      "Half a wave down, again and again.");
  s.def_static(
      "cyclic",
      [](double base, double max, double up, double down, const std::string& mode, double gamma) {
        return Schedule::cyclic({base, max, up, down, mode, gamma});
      },
      "base"_a, "max"_a, "step_size_up"_a = 2000.0, "step_size_down"_a = 0.0, "mode"_a = "triangular", "gamma"_a = 1.0,
      "Up and down in lines.");
  s.def_static(
      "one_cycle",
      [](double max, int64_t total_steps, double pct_start, const std::string& anneal, double div, double final_div, bool three_phase) {
        return Schedule::one_cycle({max, total_steps, pct_start, anneal, div, final_div, three_phase});
      },
      "max"_a, "total_steps"_a, "pct_start"_a = 0.3, "anneal"_a = "cos", "div_factor"_a = 25.0, "final_div_factor"_a = 1e4,
      "three_phase"_a = false, "One cycle: up, then down below the initial rate.");
  s.def_static("sequential", &Schedule::sequential, "schedules"_a, "milestones"_a, "Concatenates schedules at the milestones.");
  s.def_static("product", &Schedule::product, "schedules"_a, "The product of schedules.");
  s.def_static("sum", &Schedule::sum, "schedules"_a, "The sum of schedules.");
  s.def_static("average", &Schedule::average, "schedules"_a, "The mean of schedules.");
  s.def(
      "__mul__", [](const Schedule& a, const Schedule& b) { return a * b; }, nb::is_operator());
  s.def(
      "__add__", [](const Schedule& a, const Schedule& b) { return a + b; }, nb::is_operator());
  o.def("curves_as_text", optim::curves_as_text, "curves"_a, "width"_a = 64, "height"_a = 12);
  o.def("curves_as_svg", optim::curves_as_svg, "curves"_a, "width"_a = 640, "height"_a = 360);
}

}  // namespace pyburn::python
