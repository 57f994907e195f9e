#include "pyburn/inference/operation_cost.h"

#include "pyburn/backends/null/null_backend.h"

namespace pyburn {

class CountingBackend final : public Backend {
 public:
  CountingBackend(Ref<Backend> inner, bool computes) : inner_(std::move(inner)), computes_(computes) {}

  void execute(OpRef op, Inputs in, Outputs out) override {
    run(*inner_, op, in, out);
    if (!op.info->multiply_adds || out.empty()) return;
    static const Shape absent{};
    SmallVector<const Shape*, 8> shapes;
    for (const TensorHandle* t : in) shapes.push_back(t->defined() ? &t->shape() : &absent);
    const int64_t cost = op.info->multiply_adds({shapes.data(), size_t(shapes.size())}, out[0].shape());
    if (cost > 0) counts[op.info] += cost;
  }
  KernelSupport support(const OpInfo&, DType) const override { return KernelSupport::native; }  // inner_ decomposes
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return inner_->allocate(dtype, elements); }
  void upload(const HostArray& from, const TensorHandle& to) override { inner_->upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override {
    // What was there before has its values even where nothing is computed.
    if (computes_ || !from.storage()->has_values) inner_->download(from, to);
    else from.storage()->owner->download(from, to);
  }
  void synchronize() override { inner_->synchronize(); }
  std::string name() const override { return "counting(" + inner_->name() + ")"; }
  Backend* inner() const override { return inner_.get(); }
  bool owns_storage() const override { return false; }
  bool sees_views() const override { return inner_->sees_views(); }  // autodiff records them

  std::map<const OpInfo*, int64_t> counts;

 private:
  Ref<Backend> inner_;
  bool computes_;
};

namespace {

Ref<Backend> below(Device& device, bool compute) {
  return compute ? Ref<Backend>(&device.backend()) : Ref<Backend>(new NullBackend(Ref<Backend>(&device.leaf())));
}

}  // namespace

OperationCost::OperationCost(Device& device, bool compute)
    : backend_(new CountingBackend(below(device, compute), compute)), scope_(*backend_) {}
OperationCost::~OperationCost() = default;
const std::map<const OpInfo*, int64_t>& OperationCost::by_operation() const { return backend_->counts; }

}  // namespace pyburn
