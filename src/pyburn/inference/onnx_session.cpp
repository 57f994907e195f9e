#include "pyburn/inference/onnx_session.h"

#include <algorithm>

#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/inference/capture.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

using onnx::Value;
using onnx::ValueInfo;
using onnx::Values;

constexpr int64_t kMostPinned = 16;  // elements

bool is_open(const ValueInfo& info, int axis) {
  return info.type.extents && size_t(axis) < info.type.extents->size() && (*info.type.extents)[size_t(axis)].size < 0;
}

}  // namespace

bool OnnxSession::may_be_pinned(const Meta& meta) { return is_integral(meta.dtype) && meta.shape.numel() <= kMostPinned; }

OnnxSession::Key OnnxSession::key_of(std::span<const Value> inputs) const {
  Key key;
  for (const Value& v : inputs) {
    key.inputs.push_back(v.tensor().meta());
    key.values.push_back(is_pinned(key.inputs.back()) ? host_bytes(v.tensor()) : std::vector<std::byte>());
  }
  return key;
}

OnnxSession::Axes OnnxSession::changed_axes(const Key& key) const {
  Axes axes = open_axes_;
  axes.resize(key.inputs.size());
  for (size_t i = 0; i < key.inputs.size(); ++i) {
    const Shape& shape = key.inputs[i].shape;
    axes[i].resize(size_t(shape.rank()), false);
    for (const Known& k : known_) {
      const Shape& other = k.key.inputs[i].shape;
      for (int axis = 0; axis < std::min(shape.rank(), other.rank()); ++axis)
        if (shape[axis] != other[axis] && is_open(model_->inputs()[i], axis)) axes[i][size_t(axis)] = true;
    }
  }
  return axes;
}

// `axes`: whose sizes are captured as such; empty: none.
OnnxSession::Known OnnxSession::capture_for(const Key& key, Device& device, const Axes& axes) {
  std::vector<CaptureInput> inputs;
  CaptureOptions options;
  const std::vector<ValueInfo>& infos = model_->inputs();
  Values given(infos.size());
  std::vector<size_t> places;  // of the inputs that are captured
  for (size_t i = 0; i < infos.size(); ++i) {
    const Meta& meta = key.inputs[i];
    if (is_pinned(meta)) {
      const void* bytes = key.values[i].data();
      given[i] = Value::on_host(from_host(host_device(), {const_cast<void*>(bytes), meta}));
      continue;
    }
    places.push_back(i);
    CaptureInput& input = inputs.emplace_back();
    input.meta = meta, input.name = infos[i].name, input.example = meta.shape;
    for (int axis = 0; axis < meta.shape.rank(); ++axis) {
      const bool free = !axes.empty() && axes[i][size_t(axis)];
      const std::string name = free ? (*infos[i].type.extents)[size_t(axis)].name : std::string();
      input.extents.push_back(free && name.empty() ? format("{}.{}", infos[i].name, axis) : name);
      if (free) input.meta.shape[axis] = -1;
    }
  }
  for (const ValueInfo& info : model_->outputs()) options.output_names.push_back(info.name);
  options.constants = model_->named_parameters();
  const auto run = [&](const Tensors& tensors) {
    Values values = given;
    for (size_t k = 0; k < places.size(); ++k) values[places[k]] = Value(tensors[int64_t(k)]);
    Tensors outputs;
    for (const Value& v : model_->run(values)) {
      require<CaptureError>(v.is_tensor(), "[onnx] an output is {}", to_text(v));
      outputs.push_back(v.tensor());
    }
    return outputs;
  };
  try {
    return {key, std::make_shared<Session>(capture(device, inputs, run, options), device, constants_), ""};
  } catch (const CaptureError& e) {
    return {key, nullptr, e.what()};
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& e) {  // other sizes than those of the call are tried, too, which the model need not take
    if (axes.empty()) throw;
    return {key, nullptr, e.what()};
  }
}

bool OnnxSession::serves(const Session& session, const Key& key) const {
  const Graph& g = session.graph();
  size_t k = 0;
  for (size_t i = 0; i < key.inputs.size(); ++i) {
    if (is_pinned(key.inputs[i])) return false;  // its values are in the graph
    const Meta& m = g.values[size_t(g.inputs[k++])];
    if (m.dtype != key.inputs[i].dtype || m.shape.rank() != key.inputs[i].shape.rank()) return false;
    for (int axis = 0; axis < m.shape.rank(); ++axis)
      if (!open_axes_[i][size_t(axis)] && m.shape[axis] != key.inputs[i].shape[axis]) return false;
  }
  return true;
}

const OnnxSession::Known& OnnxSession::known(std::span<const Value> inputs) {
  bool tensors = inputs.size() == model_->inputs().size() && !inputs.empty();
  for (const Value& v : inputs) tensors = tensors && v.is_tensor();
  if (!tensors) {
    static const Known apart{{}, nullptr, "an input is not a tensor"};
    return apart;
  }
  Key key = key_of(inputs);
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.key == key; });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return known_.front();
  }
  Device& device = inputs[0].tensor().device();
  if (!known_.empty() && known_.front().session && !pins_ && !(open_ && serves(*open_, key))) {
    if (const Axes axes = changed_axes(key); axes != open_axes_) {
      open_axes_ = axes;
      open_ = capture_for(key, device, axes).session;
    }
  }
  if (open_ && serves(*open_, key)) {
    known_.push_front({key, open_, ""});
  } else {
    known_.push_front(capture_for(key, device, {}));
    const bool pinnable = std::any_of(key.inputs.begin(), key.inputs.end(), may_be_pinned) &&
                          !std::all_of(key.inputs.begin(), key.inputs.end(), may_be_pinned);
    if (!known_.front().session && !pins_ && pinnable) {
      pins_ = true;
      known_.clear();
      open_.reset();
      key = key_of(inputs);
      known_.push_front(capture_for(key, device, {}));
    }
  }
  if (known_.size() > kKept) known_.pop_back();
  return known_.front();
}

std::shared_ptr<Session> OnnxSession::captured(std::span<const Value> inputs) {
  const std::lock_guard lock(mutex_);
  return known(inputs).session;
}
std::string OnnxSession::why_not(std::span<const Value> inputs) {
  const std::lock_guard lock(mutex_);
  return known(inputs).why_not;
}

Tensors OnnxSession::captured_inputs(std::span<const Value> inputs) const {
  Tensors tensors;
  for (const Value& v : inputs)
    if (!is_pinned(v.tensor().meta())) tensors.push_back(v.tensor());
  return tensors;
}

Values OnnxSession::run(std::span<const Value> inputs) {
  const std::shared_ptr<Session> session = captured(inputs);
  if (!session) {
    const autograd::NoGrad no_grad;  // results are the same whether the model could be captured or not
    return model_->run(inputs);
  }
  const Tensors tensors = captured_inputs(inputs);
  const Tensors outputs = session->run({tensors.data(), size_t(tensors.size())});
  return Values(outputs.begin(), outputs.end());
}

}  // namespace pyburn
