#include "pyburn/inference/operation_times.h"

#include <chrono>

namespace pyburn {
namespace {

int64_t now() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

class TimingBackend final : public Backend {
 public:
  explicit TimingBackend(Ref<Backend> inner) : inner_(std::move(inner)) {}

  void execute(OpRef op, Inputs in, Outputs out) override {
    const int64_t start = now();
    run(*inner_, op, in, out);
    const int64_t end = now();
    records.push_back({op.info, start, end, out.empty() ? Shape{} : out[0].shape()});
  }
  KernelSupport support(const OpInfo&, DType) const override { return KernelSupport::native; }  // inner_ decomposes
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return inner_->allocate(dtype, elements); }
  void upload(const HostArray& from, const TensorHandle& to) override { inner_->upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override { inner_->download(from, to); }
  void synchronize() override { inner_->synchronize(); }
  std::string name() const override { return "timing(" + inner_->name() + ")"; }
  Backend* inner() const override { return inner_.get(); }
  bool owns_storage() const override { return false; }
  bool sees_views() const override { return inner_->sees_views(); }  // autodiff records them

  std::vector<OperationTime> records;

 private:
  Ref<Backend> inner_;
};

OperationTimes::OperationTimes(Device& device) : backend_(new TimingBackend(Ref<Backend>(&device.backend()))), scope_(*backend_) {}
OperationTimes::~OperationTimes() = default;
const std::vector<OperationTime>& OperationTimes::records() const { return backend_->records; }

}  // namespace pyburn
