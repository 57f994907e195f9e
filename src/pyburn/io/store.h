// Models in and out of files: which tensors, under which names, in which form; and a report of what happened.
#pragma once
#include "pyburn/io/snapshot.h"
#include "pyburn/nn/module.h"

namespace pyburn::io {

// Where a tensor belongs in a model.
struct Place {
  std::string module, name;  // "encoder.norm" and "weight"
  std::string module_type;   // "BatchNorm2d"
  std::string path() const { return module.empty() ? name : module + "." + name; }
};

// How tensors in files differ from those in models. Each part may be absent.
struct Adapter {
  std::function<std::string(const Place&)> file_name;         // what the file calls the tensor: "gamma"
  std::function<Snapshot(Snapshot, const Place&)> from_file;  // gives the tensor as the model wants it
  std::function<Snapshot(Snapshot, const Place&)> to_file;
};
// Burn's layout: weights of linear layers are transposed, and those of normalisations are called gamma and beta.
Adapter burn_layout();
// Floating tensors in files have another dtype, except those of modules whose type begins with one of `except`.
Adapter half_precision(DType dtype, std::vector<std::string> except = {"BatchNorm"});
// `first` is nearer to the file.
Adapter chain(Adapter first, Adapter second);

// A change of names by regular expressions (ECMAScript): every match of the first becomes the second, with $1 for groups.
std::function<std::string(const std::string&)> rename_by_regex(std::vector<std::pair<std::string, std::string>> rules);
std::function<bool(const std::string&)> match_regex(std::vector<std::string> patterns);  // does any of them occur in the name?

// Layers that were left out leave gaps in the numbers of a list: 0, 2, 5 become 0, 1, 2, for each list on its own. Made from
// all the names of a file.
std::function<std::string(const std::string&)> contiguous_indices(const std::vector<std::string>& names);

struct StoreOptions {
  std::function<std::string(const std::string&)> rename;  // a name in the file -> in the model; saving: the other way
  std::function<bool(const std::string&)> keep;           // names in the model that are loaded or saved; the others stay as they are
  Adapter adapter;
};

struct LoadOptions : StoreOptions {
  bool strict = true;       // missing and unused tensors are errors
  bool file_dtype = false;  // parameters take the dtype of the file, instead of the other way round
};

struct LoadReport {
  std::vector<std::string> applied;                          // names in the model
  std::vector<std::string> skipped;                          // left out by `keep`
  std::vector<std::pair<std::string, std::string>> missing;  // in the model only; with the type of their module
  std::vector<std::string> unused;                           // in the file only
  std::vector<std::pair<std::string, std::string>> errors;   // name and reason
  bool complete() const { return missing.empty() && unused.empty() && errors.empty(); }
};
std::string to_text(const LoadReport& report);  // several lines, with hints

// Reads tensors into a model, one after another. Names and shapes are compared first: where they do not allow the load,
// ValueError holds the report, and the model is as before.
LoadReport load_into(nn::Module& module, const Snapshots& tensors, const LoadOptions& options = {});
// What a file of the model contains.
Snapshots module_snapshots(nn::Module& module, const StoreOptions& options = {});

// The same from and to files of any format.
LoadReport load_into(nn::Module& module, const std::filesystem::path& path, const LoadOptions& options = {});
void save_module(nn::Module& module, const std::filesystem::path& path, const StoreOptions& options = {}, const TextMap& metadata = {});

}  // namespace pyburn::io
