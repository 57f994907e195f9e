#include "pyburn/runtime/run.h"

#include <algorithm>
#include <array>

#include "pyburn/runtime/autocast.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/fit_result.h"
#include "pyburn/runtime/promotion.h"
#include "pyburn/runtime/row_kernel.h"
#include "pyburn/runtime/run_observer.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fault.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/log.h"
#include "pyburn/support/patient_lock.h"

namespace pyburn {

DType promoted_dtype(Inputs in, const Scalar* number) {
  auto like_first = [&](const TensorHandle* t) { return t->defined() && t->dtype() == in[0]->dtype(); };
  if (!number && !in.empty() && std::all_of(in.begin(), in.end(), like_first)) return in[0]->dtype();  // most calls
  std::array<std::optional<DType>, 3> by_class;
  for (const TensorHandle* t : in) {
    if (!t->defined()) continue;
    std::optional<DType>& d = by_class[t->rank() == 0];
    d = d ? promote(*d, t->dtype()) : t->dtype();
  }
  if (number) by_class[2] = number->dtype();
  std::optional<DType> result;
  for (const std::optional<DType>& lower : by_class) {
    if (!lower) continue;
    if (!result) result = lower;
    else if (is_floating(*result)) continue;
    else if (is_floating(*lower) || *result == DType::boolean) result = promote(*result, *lower);
  }
  return result.value_or(default_dtype());
}

namespace {

thread_local Backend* level = nullptr;
thread_local ResultScope* result_scope = nullptr;
thread_local constinit uint32_t calls = 0;

// A tensor made while a graph was captured keeps the device of the model, but must not reach its kernels later.
void refuse_without_values(const TensorHandle& t) {
  if (!level && t.storage()->owner != &t.device().leaf())
    fail<CaptureError>("the tensor was made while capturing and has no values: got {}", t.shape());
}

Device& common_device(Inputs in, Outputs out, Device* device) {
  auto check = [&](const TensorHandle& t) {
    if (!t.defined()) return;
    if (t.storage() && !t.storage()->has_values) [[unlikely]]
      refuse_without_values(t);
    if (!device) device = &t.device();
    else if (device != &t.device()) fail<DeviceError>("tensors are on different devices: got {} and {}", *device, t.device());
  };
  for (const TensorHandle* t : in) check(*t);
  for (const TensorHandle& t : out) check(t);
  return device ? *device : default_device();
}

TensorHandle cast_to(const TensorHandle& x, DType dtype) {
  InputList in;
  in.add(x);
  return call(op::cast, CastTo{dtype}, in);
}

// The inputs as the kernels will see them; owns what it had to make.
struct Prepared {
  SmallVector<const TensorHandle*, 8> list;
  SmallVector<TensorHandle, 2> owned;
  void replace(int64_t i, TensorHandle t) {
    if (owned.empty()) owned.reserve(5 * list.size());  // addresses must stay; five changes at most per input
    owned.push_back(std::move(t));
    list[i] = &owned.back();
  }
  operator Inputs() const { return {list.data(), size_t(list.size())}; }
};

void cast_all(Prepared& in, DType dtype) {
  for (int64_t i = 0; i < in.list.size(); ++i)
    if (in.list[i]->defined() && in.list[i]->dtype() != dtype) in.replace(i, cast_to(*in.list[i], dtype));
}

void autocast_all(Prepared& in, Autocast wanted) {
  for (int64_t i = 0; i < in.list.size(); ++i)
    if (TensorHandle x = autocast(wanted, *in.list[i]); !x.is_same(*in.list[i])) in.replace(i, std::move(x));
}

// Element-wise inputs before the key are conditions. PyTorch takes uint8 for a boolean, with a warning.
void accept_byte_conditions(Prepared& in, const OpInfo& info) {
  for (int64_t i = 0; i < info.key && i < in.list.size(); ++i) {
    if (!in.list[i]->defined() || in.list[i]->dtype() != DType::uint8) continue;
    warn(format("{} received a uint8 condition tensor, which is deprecated: use a boolean condition instead", info.function()));
    in.replace(i, cast_to(*in.list[i], DType::boolean));
  }
}

void broadcast_all(Prepared& in) {
  bool equal = true;
  const TensorHandle* first = nullptr;
  for (const TensorHandle* t : in.list) {
    if (!t->defined()) continue;
    if (!first) first = t;
    else equal &= t->shape() == first->shape();
  }
  if (equal) return;
  Shape shape = first->shape();
  for (const TensorHandle* t : in.list)
    if (t->defined()) shape = broadcast_shapes(shape, t->shape());
  for (int64_t i = 0; i < in.list.size(); ++i) {
    if (!in.list[i]->defined() || in.list[i]->shape() == shape) continue;
    InputList one;
    one.add(*in.list[i]);
    in.replace(i, call(op::expand, Expand{shape}, one));
  }
}

// Elementwise results keep the order of axes of their inputs.
Layout result_layout(const OpInfo& info, Inputs in, const Shape& shape) {
  bool plain = true;
  SmallVector<const Layout*, 4> layouts;
  if (info.kind == Kind::elementwise)
    for (const TensorHandle* t : in) {
      if (!t->defined() || !(t->shape() == shape)) continue;
      layouts.push_back(&t->layout());
      plain &= t->layout().is_contiguous();
    }
  if (plain) return contiguous_layout(shape);
  return {shape, elementwise_strides(shape, {layouts.data(), size_t(layouts.size())}), 0};
}

bool bytes_meet(const TensorHandle& a, const TensorHandle& b) {
  const auto [a0, a1] = a.layout().extent();
  const auto [b0, b1] = b.layout().extent();
  const int64_t a_size = size_of(a.dtype()), b_size = size_of(b.dtype());
  return a0 * a_size < b1 * b_size && b0 * b_size < a1 * a_size;
}

// An input that shares memory with the output must not see the output's new values.
void separate_from(Prepared& in, const TensorHandle& out, const OpInfo& info) {
  for (int64_t i = 0; i < in.list.size(); ++i) {
    const TensorHandle& t = *in.list[i];
    if (!t.defined() || t.storage() != out.storage()) continue;
    const bool in_step = info.kind == Kind::elementwise || info.kind == Kind::update || (info.changes_first && i == 0);
    if (in_step && t.dtype() == out.dtype() && t.layout() == out.layout()) continue;  // the same place
    if (!bytes_meet(t, out)) continue;
    if (planted_fault == Fault::missing_overlap_copy) continue;
    in.replace(i, cast_to(t, t.dtype()));
  }
}

void check_target(const TensorHandle& out, const Meta& result) {
  require(out.shape() == result.shape, "the result has another shape than the tensor that it is written to: got {} for {}", result.shape,
      out.shape());
  require<DTypeError>(
      can_cast(result.dtype, out.dtype()), "result type {} can't be cast to the desired output type {}", result.dtype, out.dtype());
  if (out.layout().has_overlap())
    fail<GradientError>(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location; "
        "clone() it before writing: got {}",
        out.layout());
}

void dispatch_view(Backend& top, OpRef op, Inputs in, Outputs out) {
  require<ValueError>(!out[0].defined(), "a view cannot be written into another tensor");
  const Layout layout = op.info->view(op, in[0]->layout());
  check_rank(layout.shape);
  if (in[0]->storage() && planted_fault != Fault::unchecked_view_bounds) {
    const auto [first, end] = layout.extent();  // as_strided may name any place
    require(first == end || (first >= 0 && bytes_of(in[0]->dtype(), end) <= in[0]->storage()->bytes),
        "the view is out of bounds of its storage: got {}", layout);
  }
  out[0] = alias(*in[0], layout);
  if (in[0]->has(Flag::untracked)) out[0].set(Flag::untracked);
  if (top.sees_views()) top.execute(op, in, out);
}

void dispatch_checked(OpRef op, Inputs given, Outputs out, Device* wanted) {
  const OpInfo& info = *op.info;
  Device& device = common_device(given, out, wanted);
  Backend& top = level ? *level : device.backend();
  if (info.kind == Kind::view) return dispatch_view(top, op, given, out);

  Prepared in;
  in.list.append(given.begin(), given.end());
  if (info.kind == Kind::elementwise && info.key > 0) accept_byte_conditions(in, info);
  if (info.autocast != Autocast::none && autocast_active() && !out[0].defined()) autocast_all(in, info.autocast);
  if (info.cast == Cast::promote || info.cast == Cast::promote_float) {
    DType common = promoted_dtype(Inputs(in).subspan(info.key), info.scalar ? info.scalar(op.attrs) : nullptr);
    if (info.cast == Cast::promote_float && !is_floating(common)) common = default_dtype();
    // The key input and what follows take part; `where` keeps its condition.
    for (int64_t i = info.key; i < in.list.size(); ++i)
      if (in.list[i]->defined() && in.list[i]->dtype() != common) in.replace(i, cast_to(*in.list[i], common));
  }
  if (info.kind == Kind::elementwise && in.list.size() > 1) broadcast_all(in);

  MetaList results;
  const bool infers = info.infer && info.kind != Kind::dynamic;
  if (infers) {
    SmallVector<Meta, 4> metas;
    for (const TensorHandle* t : in.list) metas.push_back(t->defined() ? t->meta() : Meta{});
    info.infer(op, {metas.data(), size_t(metas.size())}, results);
    require<ValueError>(
        results.size() == int64_t(out.size()), "wrong number of outputs: got {}, expected {}", int64_t(out.size()), results.size());
    for (const Meta& m : results) checked_numel(m.shape);
    if (info.cast == Cast::to_result) cast_all(in, results[0].dtype);
  }

  bool writes = false;
  SmallVector<TensorHandle, 2> targets;  // where the dtype of a given output differs: computed apart, then copied
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) {
      if (infers) out[i] = make_tensor(device, results[int64_t(i)].dtype, result_layout(info, in, results[int64_t(i)].shape));
      continue;
    }
    require<UnsupportedOp>(infers, "has no in-place or out= form");
    const bool in_place = std::any_of(given.begin(), given.end(), [&](const TensorHandle* t) { return t->is_same(out[i]); });
    if (!in_place) fit_result(out[i], results[int64_t(i)].shape);
    check_target(out[i], results[int64_t(i)]);
    if (out[i].dtype() != results[int64_t(i)].dtype) {
      targets.resize(int64_t(out.size()));
      targets[int64_t(i)] = out[i];
      out[i] = make_tensor(device, results[int64_t(i)].dtype, contiguous_layout(results[int64_t(i)].shape));
      continue;
    }
    separate_from(in, out[i], info);
    writes = true;
  }
  if (writes) {
    top.check_write(in, out);
    for (const TensorHandle& t : out) {
      if (!t.storage()) continue;
      t.storage()->note_write();
      if (!t.has(Flag::untracked) && planted_fault != Fault::missing_version_bump) t.storage()->bump_version();
    }
  }
  run(top, op, in, out);
  for (int64_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].defined()) continue;
    InputList one;
    one.add(out[size_t(i)]);
    call_into(op::cast, CastTo{targets[i].dtype()}, one, targets[i]);
    out[size_t(i)] = targets[i];
  }
}

}  // namespace

// Room for every op of the table and its plugins, a byte per dtype: 0 not asked, else 1 + the answer.
struct Backend::Routes {
  const size_t dtypes = all_dtypes().size();
  const std::unique_ptr<std::atomic<uint8_t>[]> known { new std::atomic<uint8_t>[OpTable::kMost * dtypes] {} };
};

Backend::~Backend() { delete routes_.load(); }

KernelSupport Backend::known_support(const OpInfo& op, DType key) const {
  Routes* routes = routes_.load(std::memory_order_acquire);
  if (!routes) {
    auto* fresh = new Routes;
    if (routes_.compare_exchange_strong(routes, fresh)) routes = fresh;
    else delete fresh;
  }
  std::atomic<uint8_t>& known = routes->known[op.index * routes->dtypes + size_t(key)];
  uint8_t answer = known.load(std::memory_order_relaxed);
  if (answer == 0) known = answer = uint8_t(1 + uint8_t(support(op, key)));
  const auto support = KernelSupport(answer - 1);
  return support == KernelSupport::none && op.kernel && !inner() && row_kernel_runs_on(*this, op) ? KernelSupport::by_row : support;
}

bool Backend::supports(OpRef op, Inputs in, Outputs out) const {
  const KernelSupport known = known_support(*op.info, key_dtype(*op.info, in, out));
  if (known != KernelSupport::depends) return known != KernelSupport::none;
  return supports_call(op, in, out) || (op.info->kernel && !inner() && row_kernel_runs_on(*this, *op.info));
}

bool Backend::supports_call(OpRef op, Inputs in, Outputs out) const { return inner() && inner()->supports(op, in, out); }

Backend& storage_maker(Backend& backend) {
  Backend* maker = &backend;
  while (!maker->owns_storage() && maker->inner()) maker = maker->inner();
  return *maker;
}

DType widest_float(const Backend& backend) {
  return backend.capabilities().dtypes.contains(DType::float64) ? DType::float64 : DType::float32;
}

void require_dtype(const Backend& backend, DType dtype) {
  if (!backend.capabilities().dtypes.contains(dtype))
    fail<DTypeError>("{} cannot store {}: use a supported dtype, such as float32", backend.name(), dtype);
}

void place_results(Tensors results, Outputs out) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined() || !out[i].storage()) {
      out[i] = std::move(results[int64_t(i)]);
      continue;
    }
    TensorHandle target = alias(out[i], out[i].layout());
    target.set(Flag::untracked);  // the door has counted this write
    InputList one;
    one.add(results[int64_t(i)]);
    call_into(op::cast, CastTo{out[i].dtype()}, one, target);
  }
}

void decompose(Backend& backend, OpRef op, Inputs in, Outputs out) {
  LevelScope scope(backend);
  Tensors results = op.info->decompose(op, in);
  require<ValueError>(results.size() == int64_t(out.size()), "the decomposition returned the wrong number of results: expected {}, got {}",
      int64_t(out.size()), results.size());
  place_results(std::move(results), out);
}

DType key_dtype(const OpInfo& info, Inputs in, Outputs out) {
  if (info.key < in.size() && in[info.key]->defined()) return in[info.key]->dtype();
  return !out.empty() && out[0].defined() ? out[0].dtype() : default_dtype();
}

// An operation without inputs (zeros, arange, random numbers) can be computed on the host, with the same elements, and uploaded: a
// backend needs no kernel for it.
static bool run_on_host(Backend& backend, OpRef op, Inputs in, Outputs out) {
  Device& host = host_device();
  if (!in.empty() || op.info->kind == Kind::dynamic || &storage_maker(backend) == &host.leaf()) return false;
  Tensors made, results;
  for (const TensorHandle& t : out) made.push_back(make_tensor(host, t.dtype(), contiguous_layout(t.shape())));
  run(host.leaf(), op, in, {made.data(), size_t(made.size())});
  for (size_t i = 0; i < out.size(); ++i) {
    const Meta meta = out[i].meta();
    results.push_back(
        make_tensor(out[i].device(), meta.dtype, contiguous_layout(meta.shape), backend.allocate(meta.dtype, out[i].numel())));
    backend.upload({host_memory(made[int64_t(i)]), meta}, results.back());
  }
  const LevelScope scope(backend);
  place_results(std::move(results), out);
  return true;
}

namespace {
// Of its own: what it supports beyond that is the row's.
bool has_kernel(Backend& leaf, OpRef op, Inputs in, Outputs out) {
  const KernelSupport known = leaf.known_support(*op.info, key_dtype(*op.info, in, out));
  return known == KernelSupport::native || (known == KernelSupport::depends && leaf.supports_call(op, in, out));
}
}  // namespace

void run(Backend& backend, OpRef op, Inputs in, Outputs out) {
  const OpInfo& info = *op.info;
  if (info.kind == Kind::view) {
    if (backend.sees_views()) backend.execute(op, in, out);
    return;
  }
  if (backend.supports(op, in, out)) {
    if (info.kernel && !backend.inner() && !has_kernel(backend, op, in, out)) return run_row_kernel(backend, op, in, out);
    if (backend.owns_storage() && info.kind != Kind::dynamic)
      for (TensorHandle& t : out)
        if (!t.storage()) t.impl()->storage = backend.allocate(t.dtype(), t.numel());
    return backend.execute(op, in, out);
  }
  if (info.decompose) return decompose(backend, op, in, out);
  const DType key = key_dtype(info, in, out);
  require_dtype(backend, key);
  if (run_on_host(backend, op, in, out)) return;
  const std::string name = stack_name(backend);
  const bool on_cpu = &storage_maker(backend) == &host_device().leaf();
  fail<UnsupportedOp>(
      "has no kernel for {} on {}, and no decomposition{}", key, name, on_cpu ? "" : format("; router({}, cpu) runs it on the CPU", name));
}

void dispatch(OpRef op, Inputs in, Outputs out, Device* device) {
  if (++calls % 64 == 0) check_interrupt();  // composites may consist of any number of calls
  try {
    dispatch_checked(op, in, out, device);
  } catch (Error& e) {
    e.prefix(op.info->function());
    throw;
  }
}

TensorHandle asking_for_gradient(TensorHandle t, bool requires_grad) {
  if (!requires_grad) return t;
  require<DTypeError>(is_floating(t.dtype()), "only Tensors of floating point dtype can require gradients: got {}", t.dtype());
  t.set(Flag::requires_grad);
  return t;
}

ResultScope::ResultScope() : outer_(result_scope) { result_scope = this; }
ResultScope::~ResultScope() { result_scope = outer_; }

void fit_result(const TensorHandle& out, const Shape& shape) {
  if (out.shape() == shape || out.requires_grad()) return;
  if (out.numel() > 0) {
    if (!result_scope) return;
    result_scope->resized_ = true;
  }
  Backend& top = level && !run_observer() ? *level : out.device().backend();  // a recording sees tensors of any device
  auto replace = [&] {
    out.impl()->storage = top.allocate(out.dtype(), shape.numel());
    out.impl()->layout = contiguous_layout(shape);
  };
  while_unused(
      out.impl(), [](void* replace_out) { (*static_cast<decltype(replace)*>(replace_out))(); }, &replace);
}

TensorHandle independent(TensorHandle view) {
  (level ? *level : view.device().backend()).forget_base(view);
  return view;
}

LevelScope::LevelScope(Backend& backend) : previous_(level) { level = &backend; }
LevelScope::LevelScope(std::nullptr_t) : previous_(level) { level = nullptr; }
LevelScope::~LevelScope() { level = previous_; }
Backend* current_level() { return level; }

}  // namespace pyburn
