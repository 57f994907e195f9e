// Loads and saves models: selects, renames and adapts tensors, and reports the result.
#pragma once
#include "pyburn/io/snapshot.h"
#include "pyburn/nn/module.h"

namespace pyburn::io {

// The position of a tensor in a model.
struct Place {
  std::string module, name;  // "encoder.norm" and "weight"
  std::string module_type;   // "BatchNorm2d"
  std::string path() const { return module.empty() ? name : module + "." + name; }
};

// How tensors in files differ from those in models. Each function may be empty.
struct Adapter {
  std::function<std::string(const Place&)> file_name;         // the name in the file: "gamma"
  std::function<Snapshot(Snapshot, const Place&)> from_file;  // converts the tensor to the form the model expects
  std::function<Snapshot(Snapshot, const Place&)> to_file;
};
// Burn's layout: weights of linear layers are transposed, and those of normalisation layers are called gamma and beta.
Adapter burn_layout();
// Floating-point tensors are stored in another dtype, except those of modules whose type begins with an entry of `except`.
Adapter half_precision(DType dtype, std::vector<std::string> except = {"BatchNorm"});
// Chains two adapters; `first` is applied closest to the file.
Adapter chain(Adapter first, Adapter second);

// Renames by regular expressions (ECMAScript): every match of the first is replaced by the second, with $1 for groups.
std::function<std::string(const std::string&)> rename_by_regex(std::vector<std::pair<std::string, std::string>> rules);
std::function<bool(const std::string&)> match_regex(std::vector<std::string> patterns);  // does any of them match part of the name?

// Layers that were left out leave gaps in the numbers of a list: 0, 2, 5 become 0, 1, 2, for each list separately. Computed from all names
// of a file.
std::function<std::string(const std::string&)> contiguous_indices(const std::vector<std::string>& names);

struct StoreOptions {
  std::function<std::string(const std::string&)> rename;  // maps names in the file to the model; when saving, the reverse
  std::function<bool(const std::string&)> keep;           // filters names of the model; the others are left unchanged
  Adapter adapter;
};

struct LoadOptions : StoreOptions {
  bool strict = true;       // missing and unused tensors are errors
  bool file_dtype = false;  // parameters take the dtype of the file, instead of converting the tensors
};

struct LoadReport {
  std::vector<std::string> applied;                          // names in the model
  std::vector<std::string> skipped;                          // excluded by `keep`
  std::vector<std::pair<std::string, std::string>> missing;  // only in the model; with the type of their module
  std::vector<std::string> unused;                           // only in the file
  std::vector<std::pair<std::string, std::string>> errors;   // name and reason
  bool complete() const { return missing.empty() && unused.empty() && errors.empty(); }
};
std::string to_text(const LoadReport& report);  // several lines, with hints

// Reads tensors into a model, one after another. Names and shapes are checked first: if they do not match, ValueError contains the report,
// and the model is unchanged.
LoadReport load_into(nn::Module& module, const Snapshots& tensors, const LoadOptions& options = {});
// The content of a file for the model.
Snapshots module_snapshots(nn::Module& module, const StoreOptions& options = {});

// As above, from and to files in any format.
LoadReport load_into(nn::Module& module, const std::filesystem::path& path, const LoadOptions& options = {});
void save_module(nn::Module& module, const std::filesystem::path& path, const StoreOptions& options = {}, const TextMap& metadata = {});

}  // namespace pyburn::io
