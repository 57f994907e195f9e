#include "pyburn/decorators/autodiff/autodiff.h"

#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

namespace pyburn {

using namespace autograd;

namespace {

bool wants_gradient(Inputs in) {
  for (const TensorHandle* t : in)
    if (t->defined() && autograd::wants_gradient(*t)) return true;
  return false;
}

struct Targets {
  bool given = false, wanting = false;
};
Targets look_at(Outputs out) {
  Targets t;
  for (const TensorHandle& o : out) {
    if (!o.defined() || !o.storage()) continue;
    t.given = true;
    // A view made under no_grad wants nothing itself, but a write to it concerns its base.
    t.wanting |= autograd::wants_gradient(o) || (is_view(o) && autograd::wants_gradient(history_of(o)->base));
  }
  return t;
}

}  // namespace

void Autodiff::check_write(Inputs in, Outputs out) const {
  if (modes().grad && (look_at(out).wanting || wants_gradient(in)))
    for (const TensorHandle& t : out)
      if (t.storage()) refuse_write(t);
}

void Autodiff::forget_base(const TensorHandle& view) const { autograd::forget_base(view); }

// The whole forward path.
void Autodiff::execute(OpRef op, Inputs in, Outputs out) {
  if (op.info->kind == Kind::view) {
    run(*inner_, op, in, out);
    return record_view(op, *in[0], out[0]);
  }
  if (op.info->may_alias) return decompose(*this, op, in, out);  // a view must be seen even while nothing is recorded
  const Targets targets = look_at(out);
  const bool record = modes().grad && (targets.wanting || wants_gradient(in));
  if (!record) {
    run(*inner_, op, in, out);
    if (modes().inference && !targets.given)
      for (TensorHandle& t : out) t.set(Flag::inference);
    return;
  }
  if (!op.info->grad && op.info->decompose && !targets.wanting) return decompose(*this, op, in, out);

  Ref<Node> node;
  if (!op.info->grad) {  // indices, comparisons, random draws: nothing to differentiate
    run(*inner_, op, in, out);
    if (!targets.wanting) return;
    node = Ref<Node>(new Overwrite);
  } else {
    Ref<OpNode> rule(new OpNode(op, in, out, *inner_));  // before the call: the write may destroy inputs
    run(*inner_, op, in, out);
    rule->save_outputs(out);
    node = std::move(rule);
  }
  for (size_t i = 0; i < out.size(); ++i) set_history(node, out[i], int32_t(i), targets.given);
}

void register_autodiff() {
  register_backend({.name = "autodiff",
      .doc = "Records operations and computes gradients.",
      .decorator = true,
      .make = [](std::span<const Ref<Backend>> inner, std::string_view options) -> Ref<Backend> {
        require_no_options("autodiff", options);
        require<DeviceError>(inner.size() == 1, "[device] autodiff wraps one backend: got {}", int64_t(inner.size()));
        return make_ref<Autodiff>(inner[0]);
      }});
}

}  // namespace pyburn
