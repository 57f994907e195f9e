#include "pyburn/io/store.h"

#include <map>
#include <set>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

struct Slot {
  Place place;
  TensorHandle tensor;
  Ref<nn::Module> module;
  bool is_shapeless() const { return module->is_shapeless(place.name); }
};

// The tensors of a model's state, in order. A module may occur in several places.
std::vector<Slot> slots_of(nn::Module& module) {
  std::vector<Slot> slots;
  for (const auto& [path, m] : module.named_modules("", false))
    for (const nn::Entry& e : m->entries()) {
      if (e.kind == nn::Entry::Kind::module || !e.persistent || !e.tensor.defined()) continue;
      // A layer of C++ keeps its type under a subclass; what is written in Python altogether has the name of its class.
      const std::string type = m->type_name() == "Module" ? m->display_name() : m->type_name();
      slots.push_back({{path, e.name, type}, e.tensor, m});
    }
  return slots;
}

std::string file_path(const Adapter& adapter, const Place& place) {
  return adapter.file_name ? Place{place.module, adapter.file_name(place), ""}.path() : place.path();
}

// Counters that older files lack; they keep their value, as in PyTorch.
bool may_be_missing(const Place& place) { return place.name == "num_batches_tracked"; }

class Loading {
 public:
  Loading(nn::Module& module, const Snapshots& tensors, const LoadOptions& options) : options_(options) {
    for (const Snapshot& s : tensors) {
      Snapshot renamed = s;
      if (options.rename) renamed.name = options.rename(s.name);
      const auto [it, fresh] = in_file_.emplace(renamed.name, renamed);
      if (!fresh) report.errors.emplace_back(renamed.name, "two tensors of the file map to this name");
      else order_.push_back(renamed.name);
    }
    for (Slot& slot : slots_of(module)) compare(slot);
    for (const std::string& name : order_) {
      if (used_.contains(name)) continue;
      if (options.keep && !options.keep(name)) report.skipped.push_back(name);
      else report.unused.push_back(name);
    }
  }

  bool allowed() const { return report.errors.empty() && (!options_.strict || (report.missing.empty() && report.unused.empty())); }

  void run() {
    for (const auto& [slot, snapshot] : matched_) {
      if (slot.is_shapeless()) slot.module->give_shape(slot.place.name, snapshot.meta.shape);
      const TensorHandle loaded = snapshot.load(slot.tensor.device());
      if (options_.file_dtype && loaded.dtype() != slot.tensor.dtype()) autograd::set_data(slot.tensor, fn::clone(loaded));
      else copy_into(slot.tensor, loaded);
      report.applied.push_back(slot.place.path());
    }
  }

  LoadReport report;

 private:
  void compare(const Slot& slot) {
    const std::string path = slot.place.path();
    auto it = in_file_.find(file_path(options_.adapter, slot.place));
    if (it == in_file_.end()) it = in_file_.find(path);
    const bool wanted = !options_.keep || options_.keep(path);
    if (it != in_file_.end()) used_.insert(it->first);
    if (!wanted) {
      report.skipped.push_back(path);
    } else if (it == in_file_.end()) {
      if (!may_be_missing(slot.place)) report.missing.emplace_back(path, slot.place.module_type);
    } else {
      match(slot, path, it->second);
    }
  }
  void match(const Slot& slot, const std::string& path, const Snapshot& found) {
    try {
      Snapshot s = options_.adapter.from_file ? options_.adapter.from_file(found, slot.place) : found;
      if (s.meta.shape == slot.tensor.shape() || slot.is_shapeless()) matched_.emplace_back(slot, std::move(s));
      else
        report.errors.emplace_back(path, format("shape mismatch: got {} in the file, {} in the model", s.meta.shape, slot.tensor.shape()));
    } catch (const Error& e) {
      report.errors.emplace_back(path, e.what());
    }
  }

  const LoadOptions& options_;
  std::map<std::string, Snapshot> in_file_;
  std::vector<std::string> order_;
  std::set<std::string> used_;
  std::vector<std::pair<Slot, Snapshot>> matched_;
};

}  // namespace

LoadReport load_into(nn::Module& module, const Snapshots& tensors, const LoadOptions& options) {
  const autograd::NoGrad no_grad;
  Loading loading(module, tensors, options);
  if (!loading.allowed()) fail<ValueError>("[load_into] the file does not match {}:\n{}", module.display_name(), to_text(loading.report));
  loading.run();
  return loading.report;
}

Snapshots module_snapshots(nn::Module& module, const StoreOptions& options) {
  Snapshots list;
  for (const Slot& slot : slots_of(module)) {
    const std::string path = slot.place.path();
    if (options.keep && !options.keep(path)) continue;
    require<ValueError>(
        !slot.is_shapeless(), "[save_module] {} of {} has no shape yet: call the model once, then save it", path, slot.place.module_type);
    Snapshot s = snapshot_of(path, fn::detach(slot.tensor));
    if (options.adapter.to_file) s = options.adapter.to_file(std::move(s), slot.place);
    s.name = file_path(options.adapter, slot.place);
    if (options.rename) s.name = options.rename(s.name);
    list.push_back(std::move(s));
  }
  return list;
}

LoadReport load_into(nn::Module& module, const std::filesystem::path& path, const LoadOptions& options) {
  return load_into(module, open_tensors(path).tensors, options);
}

void save_module(nn::Module& module, const std::filesystem::path& path, const StoreOptions& options, const TextMap& metadata) {
  write_tensors(module_snapshots(module, options), path, metadata);
}

}  // namespace pyburn::io
