#include "pyburn/inference/summary.h"

#include <algorithm>
#include <array>
#include <set>

#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/inference/operation_cost.h"
#include "pyburn/nn/hooks.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

int64_t bytes_of(const TensorHandle& t) { return pyburn::bytes_of(t.dtype(), t.numel()); }

int64_t multiply_adds_of(const OperationCost& cost) {
  int64_t total = 0;
  for (const auto& [op, count] : cost.by_operation()) total += count;
  return total;
}

// Calls the model with a hook before and after each module.
class WatchedCall {
 public:
  WatchedCall(nn::Module& model, const TensorHandle& input, bool compute) : cost_(input.device(), compute) {
    for (const auto& [path, m] : model.named_modules()) {
      const size_t dot = path.rfind('.');
      const std::string name = dot == path.npos ? path : path.substr(dot + 1);
      handles_.push_back(m->hooks().register_forward_pre_hook(
          [this, name](nn::Module& module, const TensorHandle&) { before(module, name); }, {.prepend = true}));
      handles_.push_back(m->hooks().register_forward_hook([this](nn::Module&, const TensorHandle&, const TensorHandle& y) { after(y); }));
    }
    try {
      model.call(input);
    } catch (...) {
      remove_hooks();
      throw;
    }
    remove_hooks();
  }
  std::vector<LayerSummary> layers;

 private:
  void remove_hooks() {
    for (nn::HookHandle& handle : handles_) handle.remove();
  }
  void before(nn::Module& m, const std::string& name) {
    LayerSummary layer{.name = name, .type_name = m.display_name(), .depth = int(running_.size())};
    layer.mult_adds = -multiply_adds_of(cost_);
    layer.is_leaf = m.named_children().empty();
    const std::vector<TensorHandle> parameters = m.parameters();
    int64_t fresh = 0;
    for (const TensorHandle& p : parameters) {
      if (counted_.contains(p.impl())) continue;
      ++fresh;
      layer.params += p.numel();
      if (p.requires_grad()) layer.trainable_params += p.numel();
      if (layer.is_leaf) counted_.insert(p.impl());
    }
    layer.is_repeated = fresh == 0 && !parameters.empty();
    running_.push_back(layers.size());
    layers.push_back(std::move(layer));
  }
  void after(const TensorHandle& y) {
    LayerSummary& layer = layers[running_.back()];
    running_.pop_back();
    layer.output = y.shape();
    layer.output_bytes = bytes_of(y);
    layer.mult_adds += multiply_adds_of(cost_);
  }

  OperationCost cost_;
  std::vector<nn::HookHandle> handles_;
  std::vector<size_t> running_;
  std::set<const TensorImpl*> counted_;
};

class ModeScope {
 public:
  ModeScope(nn::Module& model, bool training) {
    for (const auto& [name, m] : model.named_modules()) before_.emplace_back(m, m->training());
    model.train(training);
  }
  ~ModeScope() {
    for (const auto& [m, training] : before_) m->set_training(training);
  }

 private:
  std::vector<std::pair<Ref<nn::Module>, bool>> before_;
};

bool is_complete(nn::Module& model) {
  for (const auto& [name, m] : model.named_modules())
    for (const nn::Entry& e : m->entries())
      if (m->is_shapeless(e.name)) return false;
  return true;
}

std::vector<LayerSummary> call(nn::Module& model, const TensorHandle& input) {
  if (is_complete(model)) {  // the first call of a lazy layer has to happen
    try {
      return WatchedCall(model, input, false).layers;
    } catch (const CaptureError&) {  // it reads values
    }
  }
  return WatchedCall(model, input, true).layers;
}

std::string with_commas(int64_t n) {
  const std::string digits = pyburn::to_text(n);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
std::string in_mebibytes(int64_t bytes) {
  const int64_t hundredths = (bytes * 100 + (1 << 19)) >> 20, rest = hundredths % 100;
  return with_commas(hundredths / 100) + (rest < 10 ? ".0" : ".") + pyburn::to_text(rest) + " MiB";
}

using Row = std::array<std::string, 4>;
Row row_of(const LayerSummary& l) {
  std::string shape;
  for (int64_t n : l.output) shape += (shape.empty() ? "" : ", ") + pyburn::to_text(n);
  const std::string name = std::string(size_t(2 * l.depth), ' ') + (l.name.empty() ? l.type_name : l.type_name + " (" + l.name + ")");
  return {name, "[" + shape + "]",
      l.is_repeated ? "(recursive)"
      : l.params    ? with_commas(l.params)
                    : "--",
      l.mult_adds ? with_commas(l.mult_adds) : "--"};
}

}  // namespace

ModelSummary summary(nn::Module& model, const TensorHandle& input, bool training) {
  ModelSummary found;
  {
    const ModeScope mode(model, training);
    const autograd::NoGrad no_grad;
    found.layers = call(model, input);
  }
  for (const TensorHandle& p : model.parameters()) {
    found.total_params += p.numel();
    if (p.requires_grad()) found.trainable_params += p.numel();
    found.param_bytes += bytes_of(p);
  }
  for (const TensorHandle& b : model.buffers()) found.param_bytes += bytes_of(b);
  for (const LayerSummary& l : found.layers)
    if (l.is_leaf) found.output_bytes += l.output_bytes;
  found.total_mult_adds = found.layers[0].mult_adds;
  found.input_bytes = bytes_of(input);
  return found;
}

std::string to_text(const ModelSummary& s, int depth) {
  std::vector<Row> rows{{"Layer (type)", "Output Shape", "Param #", "Mult-Adds"}};
  for (const LayerSummary& l : s.layers)
    if (l.depth <= depth) rows.push_back(row_of(l));
  std::array<size_t, 4> widths{};
  for (const Row& row : rows)
    for (size_t i = 0; i < 4; ++i) widths[i] = std::max(widths[i], row[i].size());
  const size_t width = widths[0] + widths[1] + widths[2] + widths[3] + 6;
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < 4; ++i) {
      const std::string gap(widths[i] - rows[r][i].size(), ' ');
      text += (i ? "  " : "") + (i < 2 ? rows[r][i] + gap : gap + rows[r][i]);
    }
    text += "\n" + (r == 0 ? std::string(width, '=') + "\n" : "");
  }
  return text + std::string(width, '=') + "\nTotal params: " + with_commas(s.total_params) +
         "\nTrainable params: " + with_commas(s.trainable_params) +
         "\nNon-trainable params: " + with_commas(s.total_params - s.trainable_params) +
         "\nTotal mult-adds: " + with_commas(s.total_mult_adds) + "\n" + std::string(width, '-') +
         "\nInput size: " + in_mebibytes(s.input_bytes) + "\nForward pass size: " + in_mebibytes(s.output_bytes) +
         "\nParams size: " + in_mebibytes(s.param_bytes) + "\nEstimated total size: " + in_mebibytes(s.total_bytes());
}

}  // namespace pyburn
