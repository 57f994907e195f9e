// Optimiser steps: one kernel per parameter, which updates it and its state in place.
#include "pyburn/ops/optimise.h"

#include "pyburn/backends/wgpu/elementwise.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

// What the formula of an optimiser writes: a line of WGSL per operation. Numbers of the formula are arguments of the kernel, since they
// change from step to step.
struct Writer {
  Shader& shader;
  std::string code;
  int names = 0;
  std::string number(double v) {
    const std::string name = format("n{}", names++);
    shader.number(name, float(v));
    return "p." + name;
  }
  std::string value(const std::string& expression) {
    const std::string name = format("v{}", names++);
    code += "  let " + name + " = " + expression + ";\n";
    return name;
  }
};
thread_local Writer* writer = nullptr;

// The V of a formula: the name of a value.
class Term {
 public:
  Term() = default;
  Term(double number) : name_(writer->number(number)) {}
  static Term named(std::string name) {
    Term t;
    t.name_ = std::move(name);
    return t;
  }
  const std::string& name() const { return name_; }

  friend Term operator+(const Term& a, const Term& b) { return made(a.name_ + " + " + b.name_); }
  friend Term operator-(const Term& a, const Term& b) { return made(a.name_ + " - " + b.name_); }
  friend Term operator*(const Term& a, const Term& b) { return made(a.name_ + " * " + b.name_); }
  friend Term operator/(const Term& a, const Term& b) { return made(a.name_ + " / " + b.name_); }
  friend Term add(const Term& a, const Term& b, double factor) {
    return factor == 0 ? a : made(a.name_ + " + " + writer->number(factor) + " * " + b.name_);
  }
  friend Term square_root(const Term& a) { return made("sqrt(" + a.name_ + ")"); }
  friend Term magnitude(const Term& a) { return made("abs(" + a.name_ + ")"); }
  friend Term signum(const Term& a) { return made("select(sign(" + a.name_ + "), " + a.name_ + ", is_nan(" + a.name_ + "))"); }
  friend Term larger(const Term& a, const Term& b) { return chosen(a, b, " > "); }  // NaN wins
  friend Term smaller(const Term& a, const Term& b) { return chosen(a, b, " < "); }
  friend Term choose(const Term& x, const Term& positive, const Term& otherwise) {
    return made("select(" + otherwise.name_ + ", " + positive.name_ + ", " + x.name_ + " > 0.0)");
  }

 private:
  static Term made(const std::string& expression) { return named(writer->value(expression)); }
  static Term chosen(const Term& a, const Term& b, const char* over) {
    return made("select(" + b.name_ + ", " + a.name_ + ", " + a.name_ + over + b.name_ + " || is_nan(" + a.name_ + "))");
  }
  std::string name_;
};

template <class A>
void step(const Call& c) {
  const A& a = c.attrs<A>();
  const int64_t states = a.states(), groups = 2 + states, n = int64_t(c.in.size()) / groups;
  const bool guarded = int64_t(c.in.size()) > n * groups;
  for (int64_t i = 0; i < n; ++i) {
    const TensorHandle& parameter = c.out[size_t(i)];
    if (parameter.numel() == 0) continue;
    const Order ordered(parameter.layout());
    Shader s(c.gpu);
    Writer lines{s, {}};
    writer = &lines;
    if (guarded) {
      s.input("found", *c.in.back());
      lines.code += "  let skipped = found_get(0u) != 0.0 || is_nan(found_get(0u));\n";
    }
    const auto read = [&](int64_t group) {
      const std::string name = format("x{}", group);
      s.input(name.c_str(), ordered(*c.in[size_t(group * n + i)]));
      return Term::named(lines.value(name + "_get(i)"));
    };
    const auto write = [&](int64_t group, const Term& changed, const Term& old) {
      const std::string name = format("y{}", group);
      s.output(name.c_str(), ordered(c.out[size_t(group * n + i)]));
      lines.code +=
          "  " + name + "_set(i, " + (guarded ? "select(" + changed.name() + ", " + old.name() + ", skipped)" : changed.name()) + ");\n";
    };
    const Term old = read(0), g = read(1);
    Term p = old, old_state[A::kMost + 1], state[A::kMost + 1];
    for (int64_t k = 0; k < states; ++k) state[k] = old_state[k] = read(2 + k);
    a.step(p, g, state);
    write(0, p, old);
    for (int64_t k = 0; k < states; ++k) write(1 + k, state[k], old_state[k]);
    s.run_each(parameter.numel(), lines.code);
  }
}

// All tensors are floats; found_inf may be of any dtype that computes in them.
bool accepts(OpRef, Inputs in, Outputs) {
  for (const TensorHandle* t : in)
    if (word_of(t->dtype()) != Word::f32) return false;
  return true;
}

template <class... A>
void add_steps(KernelTable& kernels) {
  (kernels.add(*A::row, step<A>, accepts, kFloats), ...);
}

}  // namespace

void register_optimise(KernelTable& kernels) {
  add_steps<SgdStep, AsgdStep, AdamStep, AdamaxStep, NAdamStep, RAdamStep, LionStep, AdanStep, AdagradStep, AdadeltaStep, RmspropStep,
      RpropStep>(kernels);
}

}  // namespace pyburn::wgpu
