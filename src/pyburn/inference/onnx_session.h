// OnnxSession: an ONNX model, prepared for the shapes that it meets.
#pragma once
#include <atomic>
#include <list>
#include <string>

#include "pyburn/inference/session.h"
#include "pyburn/onnx/model.h"

namespace pyburn {

// The model is captured for the shapes of its inputs when they first come. From the second shapes on it is captured with those sizes free
// that have changed and that the file leaves open, if it follows them; else for each shape, and the last few are kept. Where values decide
// what is computed (an If, a Loop, a NonZero), or a value is not a tensor, the model itself runs.
class OnnxSession {
 public:
  // Constants::taken: no other code changes the model, so that its weights need not be copied.
  explicit OnnxSession(Ref<onnx::Model> model, Session::Constants constants = Session::Constants::copied)
      : model_(std::move(model)), constants_(constants) {}

  onnx::Values run(std::span<const onnx::Value> inputs);  // any number of threads at once
  // What runs for these inputs; null where the model itself does, and then why_not() says why.
  std::shared_ptr<Session> captured(std::span<const onnx::Value> inputs);
  Tensors captured_inputs(std::span<const onnx::Value> inputs) const;  // those that its session takes
  std::string why_not(std::span<const onnx::Value> inputs);

  onnx::Model& model() const { return *model_; }

 private:
  struct Key {
    std::vector<Meta> inputs;
    std::vector<std::vector<std::byte>> values;  // of inputs that are pinned; empty for others
    bool operator==(const Key&) const = default;
  };
  struct Known {
    Key key;
    std::shared_ptr<Session> session;
    std::string why_not;
  };
  static constexpr size_t kKept = 8;

  const Known& known(std::span<const onnx::Value> inputs);  // under the lock
  Key key_of(std::span<const onnx::Value> inputs) const;
  using Axes = std::vector<std::vector<bool>>;  // by input
  Known capture_for(const Key& key, Device& device, const Axes& axes);
  Axes changed_axes(const Key& key) const;  // those open sizes that were not always the same
  bool serves(const Session& session, const Key& key) const;
  static bool may_be_pinned(const Meta& meta);
  bool is_pinned(const Meta& meta) const { return pins_ && may_be_pinned(meta); }

  Ref<onnx::Model> model_;
  Session::Constants constants_;
  ForkSafeMutex mutex_;
  std::list<Known> known_;          // the last used first
  std::shared_ptr<Session> open_;   // for all sizes of some axes
  Axes open_axes_;                  // which ones; what was tried last, where there is no session
  std::atomic<bool> pins_ = false;  // whether small inputs of integers are captured by value
};

}  // namespace pyburn
