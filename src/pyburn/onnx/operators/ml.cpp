// The domain ai.onnx.ml: trees, linear models, encoders, preparation of features.
#include <algorithm>
#include <cmath>
#include <map>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/onnx/operators/string_tensors.h"
#include "pyburn/onnx/operators/trees.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

TensorHandle as_float(const TensorHandle& x) { return is_floating(x.dtype()) ? x : fn::cast(x, DType::float32); }
TensorHandle row_of(Call& c, const std::vector<double>& values, const TensorHandle& like) {
  const TensorHandle t = reals_on(c.device(), {values.begin(), values.end()}, {int64_t(values.size())});
  return t.dtype() == like.dtype() ? t : fn::cast(t, like.dtype());
}
std::vector<double> numbers_of(Call& c, std::string_view name) {
  const TensorDef* t = c.tensor(name);
  if (!t) return {};
  const TensorHandle x = fn::cast(tensor_of(*t, host_device()), DType::float64);
  std::vector<double> values(size_t(x.numel()));
  to_host(x, {values.data(), x.meta()});
  return values;
}

// --- trees ---

// Version 5: nodes and leaves in lists of their own.
Trees trees_by_number(Call& c) {
  const Dims feature = c.integers("nodes_featureids", {}), yes = c.integers("nodes_truenodeids", {}),
             no = c.integers("nodes_falsenodeids", {});
  const Dims yes_leaf = c.integers("nodes_trueleafs", {}), no_leaf = c.integers("nodes_falseleafs", {}),
             roots = c.integers("tree_roots", {});
  const Dims tracks = c.integers("nodes_missing_value_tracks_true", {}), targets = c.integers("leaf_targetids", {});
  const std::vector<double> modes = numbers_of(c, "nodes_modes"), splits = numbers_of(c, "nodes_splits"),
                            weights = numbers_of(c, "leaf_weights");
  const std::vector<double> members = numbers_of(c, "membership_values");
  const int64_t n = feature.size(), leaves = targets.size();
  require<FormatError>(n > 0 && yes.size() == n && no.size() == n && yes_leaf.size() == n && no_leaf.size() == n &&
                           int64_t(modes.size()) == n && int64_t(splits.size()) == n && (tracks.empty() || tracks.size() == n) &&
                           int64_t(weights.size()) == leaves,
      "[tree_ensemble] the attributes of {} nodes and {} leaves do not fit", n, leaves);
  Trees t;
  t.targets = c.integer("n_targets");
  for (int64_t i = 0; i < n; ++i) {
    require<FormatError>(modes[size_t(i)] >= 0 && modes[size_t(i)] <= 6, "[tree_ensemble] no such mode: got {}", modes[size_t(i)]);
    t.add(feature[i], modes[size_t(i)] == 6 ? Branch::eq : Branch(int(modes[size_t(i)])), splits[size_t(i)], !tracks.empty() && tracks[i]);
  }
  for (int64_t i = 0; i < leaves; ++i) t.weights.push_back({t.add(0, Branch::leq, 0, false), targets[i], weights[size_t(i)]});
  const auto child = [&](const Dims& id, const Dims& is_leaf, int64_t i) {
    require<FormatError>(id[i] >= 0 && id[i] < (is_leaf[i] ? leaves : n), "[tree_ensemble] no such node: got {}", id[i]);
    return is_leaf[i] ? n + id[i] : id[i];
  };
  size_t member = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to_yes = child(yes, yes_leaf, i), to_no = child(no, no_leaf, i);
    int64_t at = i;
    if (modes[size_t(i)] == 6) {  // a chain of comparisons with the members of the set
      std::vector<double> set;
      for (; member < members.size() && !std::isnan(members[member]); ++member) set.push_back(members[member]);
      ++member;
      require<FormatError>(!set.empty(), "[tree_ensemble] a node without members");
      for (size_t k = 0; k < set.size(); ++k) {
        t.split[size_t(at)] = set[k], t.yes[size_t(at)] = to_yes;
        if (k + 1 == set.size()) break;
        const int64_t next = t.add(feature[i], Branch::eq, 0, !tracks.empty() && tracks[i]);
        t.no[size_t(at)] = next, at = next;
      }
      t.no[size_t(at)] = to_no;
    } else t.yes[size_t(i)] = to_yes, t.no[size_t(i)] = to_no;
  }
  t.roots.assign(roots.begin(), roots.end());
  return t;
}
Results tree_ensemble(Call& c) {
  const auto trees = c.prepared<Trees>([&] { return trees_by_number(c); });
  static constexpr const char* transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t fold = c.integer("aggregate_function", 1), how = c.integer("post_transform", 0);
  require<FormatError>(fold >= 0 && fold <= 3 && how >= 0 && how <= 4,
      "[tree_ensemble] no such aggregate_function or post_transform: got {} and {}", fold, how);
  return transformed(walk(*trees, c.input(0), Fold(fold)), transforms[how]);
}

std::vector<double> reals_or_tensor(Call& c, const std::string& name) {
  return c.has(name + "_as_tensor") ? numbers_of(c, name + "_as_tensor") : c.reals(name);
}

// Versions 1 and 3: nodes of all trees in one list, named by tree and node. `prefix`: "class" or "target".
Trees trees_by_name(Call& c, const std::string& prefix, int64_t targets) {
  const Dims tree = c.integers("nodes_treeids", {}), id = c.integers("nodes_nodeids", {}), feature = c.integers("nodes_featureids", {});
  const Dims yes = c.integers("nodes_truenodeids", {}), no = c.integers("nodes_falsenodeids", {}),
             tracks = c.integers("nodes_missing_value_tracks_true", {});
  const std::vector<std::string> modes = c.texts("nodes_modes");
  const std::vector<double> values = reals_or_tensor(c, "nodes_values");
  const int64_t n = tree.size();
  require<FormatError>(n > 0 && id.size() == n && feature.size() == n && yes.size() == n && no.size() == n && int64_t(modes.size()) == n &&
                           int64_t(values.size()) == n && (tracks.empty() || tracks.size() == n),
      "[tree_ensemble] the attributes of {} nodes do not fit", n);
  static const std::map<std::string, Branch> known = {{"BRANCH_LEQ", Branch::leq}, {"BRANCH_LT", Branch::lt}, {"BRANCH_GTE", Branch::gte},
      {"BRANCH_GT", Branch::gt}, {"BRANCH_EQ", Branch::eq}, {"BRANCH_NEQ", Branch::neq}, {"LEAF", Branch::leq}};
  Trees t;
  t.targets = targets;
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  for (int64_t i = 0; i < n; ++i) {
    const auto mode = known.find(modes[size_t(i)]);
    require<FormatError>(mode != known.end(), "[tree_ensemble] no such mode: got '{}'", modes[size_t(i)]);
    const bool leaf = mode->first == "LEAF";
    places[{tree[i], id[i]}] = t.add(leaf ? 0 : feature[i], mode->second, values[size_t(i)], !tracks.empty() && tracks[i]);
    if (i == 0 || tree[i] != tree[i - 1]) t.roots.push_back(i);
  }
  const auto place = [&](int64_t in_tree, int64_t node) {
    const auto found = places.find({in_tree, node});
    require<FormatError>(found != places.end(), "[tree_ensemble] no such node: got {} of tree {}", node, in_tree);
    return found->second;
  };
  for (int64_t i = 0; i < n; ++i)
    if (modes[size_t(i)] != "LEAF") t.yes[size_t(i)] = place(tree[i], yes[i]), t.no[size_t(i)] = place(tree[i], no[i]);
  const Dims trees = c.integers(prefix + "_treeids", {}), nodes = c.integers(prefix + "_nodeids", {}),
             ids = c.integers(prefix + "_ids", {});
  const std::vector<double> weights = reals_or_tensor(c, prefix + "_weights");
  require<FormatError>(trees.size() == nodes.size() && ids.size() == nodes.size() && int64_t(weights.size()) == nodes.size(),
      "[tree_ensemble] the weights of leaves do not fit");
  for (int64_t i = 0; i < nodes.size(); ++i) t.weights.push_back({place(trees[i], nodes[i]), ids[i], weights[size_t(i)]});
  return t;
}
TensorHandle with_base(Call& c, const TensorHandle& scores) {
  const std::vector<double> base = reals_or_tensor(c, "base_values");
  return base.empty() ? scores : scores + row_of(c, base, scores);
}

Results tree_regressor(Call& c) {
  const auto trees = c.prepared<Trees>([&] { return trees_by_name(c, "target", c.integer("n_targets")); });
  const std::string fold = c.text("aggregate_function", "SUM");
  static const std::map<std::string, Fold> folds = {{"AVERAGE", Fold::average}, {"SUM", Fold::sum}, {"MIN", Fold::min}, {"MAX", Fold::max}};
  require<FormatError>(folds.contains(fold), "[tree_ensemble] no such aggregate_function: got '{}'", fold);
  return transformed(with_base(c, walk(*trees, c.input(0), folds.at(fold))), c.text("post_transform", "NONE"));
}
// Two classes whose leaves all name one of them have a single score.
struct ClassTrees {
  Trees trees;
  bool weights_are_positive;
};
ClassTrees class_trees(Call& c) {
  const int64_t classes = label_count(c, "classlabels_int64s", "classlabels_strings");
  Trees t = trees_by_name(c, "class", std::max<int64_t>(classes, 1));
  const bool one = classes <= 2 &&
                   std::all_of(t.weights.begin(), t.weights.end(), [&](const Trees::Weight& w) { return w.target == t.weights[0].target; });
  const bool positive = std::all_of(t.weights.begin(), t.weights.end(), [](const Trees::Weight& w) { return w.value >= 0; });
  if (one) {
    t.targets = 1;
    for (Trees::Weight& w : t.weights) w.target = 0;
  }
  return {std::move(t), positive};
}
Results tree_classifier(Call& c) {
  const auto made = c.prepared<ClassTrees>([&] { return class_trees(c); });
  const TensorHandle scores = with_base(c, walk(made->trees, c.input(0), Fold::sum));
  return classified(c, scores, made->weights_are_positive, "classlabels_int64s", "classlabels_strings");
}

// --- linear models ---

TensorHandle linear_scores(Call& c, int64_t targets) {
  TensorHandle x = as_float(c.input(0));
  if (x.rank() == 1) x = fn::unsqueeze(x, 0);
  std::vector<double> weights = c.reals("coefficients");
  const std::vector<double> bias = c.reals("intercepts");
  require<FormatError>(x.rank() == 2 && targets > 0 && int64_t(weights.size()) >= Checked(targets) * x.shape()[1],
      "[linear] {} coefficients do not fit {} and {} targets", int64_t(weights.size()), x.shape(), targets);
  weights.resize(size_t(Checked(targets) * x.shape()[1]));  // where a file has more, the first ones count, as in ONNX Runtime
  const TensorHandle y = fn::matmul(x, fn::transpose(fn::reshape(row_of(c, weights, x), {targets, x.shape()[1]}), 0, 1));
  return bias.empty() ? y : y + row_of(c, bias, y);
}
Results linear_regressor(Call& c) { return transformed(linear_scores(c, c.integer("targets", 1)), c.text("post_transform", "NONE")); }
Results linear_classifier(Call& c) {
  const int64_t classes = label_count(c, "classlabels_ints", "classlabels_strings");
  const auto width = c.value(0).tensor().shape().back();
  const int64_t scores =
      std::clamp<int64_t>(int64_t(c.reals("coefficients").size()) / std::max<int64_t>(1, width), 1, std::max<int64_t>(1, classes));
  require<FormatError>(classes > 0 && (scores == classes || (scores == 1 && classes == 2)),
      "[linear_classifier] {} rows of coefficients do not fit {} classes", scores, classes);
  return classified(c, linear_scores(c, scores), false, "classlabels_ints", "classlabels_strings");
}

// --- features ---

Results array_feature_extractor(Call& c) {
  const TensorHandle x = c.input(0), places = fn::reshape(c.input(1), {-1});
  const TensorHandle y = fn::index_select(x, x.rank() - 1, fn::cast(places, DType::int64));
  return x.rank() == 1 ? fn::unsqueeze(y, 0) : y;
}
Results binarizer(Call& c) {
  const TensorHandle x = c.input(0);
  return fn::cast(fn::gt(x, c.real("threshold", 0)), x.dtype());
}
Results scaler(Call& c) {
  TensorHandle x = as_float(c.input(0));
  if (const std::vector<double> offset = c.reals("offset"); !offset.empty()) x = x - row_of(c, offset, x);
  if (const std::vector<double> scale = c.reals("scale"); !scale.empty()) x = x * row_of(c, scale, x);
  return x;
}
Results normalizer(Call& c) {
  const TensorHandle x = as_float(c.input(0));
  const std::string norm = c.text("norm", "MAX");
  require<FormatError>(norm == "MAX" || norm == "L1" || norm == "L2", "[normalizer] norm must be MAX, L1 or L2: got '{}'", norm);
  const TensorHandle size = norm == "MAX"  ? fn::amax(x, Dims{-1}, true)
                            : norm == "L1" ? fn::sum(fn::abs(x), Dims{-1}, true)
                                           : fn::sqrt(fn::sum(x * x, Dims{-1}, true));
  return x / fn::where(fn::eq(size, 0), 1.0, size);
}
Results imputer(Call& c) {
  const TensorHandle x = c.input(0);
  if (!is_floating(x.dtype())) {
    const Dims values = c.integers("imputed_value_int64s", {});
    const TensorHandle filled = integers_on(c.device(), values);
    return fn::where(fn::eq(x, c.integer("replaced_value_int64", 0)), fn::cast(filled, x.dtype()), x);
  }
  const double replaced = c.real("replaced_value_float", 0);
  const TensorHandle missing = std::isnan(replaced) ? fn::isnan(x) : fn::eq(x, replaced);
  return fn::where(missing, row_of(c, c.reals("imputed_value_floats"), x), x);
}
Results feature_vectorizer(Call& c) {
  Tensors parts;
  for (const TensorHandle& x : c.tensors_from(0)) parts.push_back(as_float(x.rank() == 1 ? fn::unsqueeze(x, -1) : x));
  require<FormatError>(!parts.empty(), "[feature_vectorizer] expected at least one input");
  return fn::cat(parts, 1);
}
Results one_hot_encoder(Call& c) {
  const bool texts = c.value(0).is_strings();
  const auto unknown = [&] { require<ValueError>(c.flag("zeros", true), "[one_hot_encoder] an unknown category"); };
  if (!texts) {
    const TensorHandle categories = integers_on(c.device(), c.integers("cats_int64s", {}));
    const TensorHandle x = fn::unsqueeze(fn::cast(c.input(0), DType::int64), -1);
    return fn::cast(fn::eq(x, categories), DType::float32);
  }
  const std::vector<std::string> names = c.texts("cats_strings");
  const Strings& x = strings_of(c, 0);
  std::vector<float> table;
  for (const std::string& item : x.items) {
    if (std::find(names.begin(), names.end(), item) == names.end()) unknown();
    for (const std::string& name : names) table.push_back(item == name ? 1.0f : 0.0f);
  }
  Shape shape = x.shape;
  shape.push_back(int64_t(names.size()));
  return reals_on(c.device(), std::move(table), shape);
}

// --- labels ---

// Keys and values of any of the kinds that a node may list.
struct LabelList {
  std::vector<std::string> texts;
  std::vector<double> numbers;
  std::optional<DType> dtype;  // none: strings
};
LabelList labels(Call& c, const std::string& prefix) {
  if (c.has(prefix + "s_strings") || c.has(prefix + "_strings")) return {c.texts(prefix + "_strings"), {}, {}};
  if (c.has(prefix + "_int64s")) {
    const Dims list = c.integers(prefix + "_int64s", {});
    return {{}, {list.begin(), list.end()}, DType::int64};
  }
  if (c.has(prefix + "_floats")) return {{}, c.reals(prefix + "_floats"), DType::float32};
  const TensorDef* t = c.tensor(prefix + "_tensor");
  require<FormatError>(t, "[label_encoder] {} are missing", prefix);
  if (t->type == ElementType::string) return {t->strings, {}, {}};
  return {{}, numbers_of(c, prefix + "_tensor"), dtype_of(int64_t(t->type))};
}
LabelList default_label(Call& c, const LabelList& values) {
  if (const TensorDef* t = c.tensor("default_tensor")) {
    if (t->type == ElementType::string) return {t->strings, {}, {}};
    return {{}, numbers_of(c, "default_tensor"), values.dtype};
  }
  if (!values.dtype) return {{c.text("default_string", "_Unused")}, {}, {}};
  return {{}, {is_floating(*values.dtype) ? c.real("default_float", -0.0) : double(c.integer("default_int64", -1))}, values.dtype};
}
// The place of each element in the keys, -1 for others. A repeated key counts last.
std::vector<int64_t> places_of(Call& c, const LabelList& keys) {
  std::vector<int64_t> places;
  if (!keys.dtype) {
    std::map<std::string, int64_t> known;
    for (size_t i = 0; i < keys.texts.size(); ++i) known[keys.texts[i]] = int64_t(i);
    for (const std::string& item : strings_of(c, 0).items) {
      const auto found = known.find(item);
      places.push_back(found == known.end() ? -1 : found->second);
    }
    return places;
  }
  std::map<double, int64_t> known;
  int64_t nan = -1;
  for (size_t i = 0; i < keys.numbers.size(); ++i)
    if (std::isnan(keys.numbers[i])) nan = int64_t(i);
    else known[keys.numbers[i]] = int64_t(i);
  for (const double v : c.read_numbers(0)) {
    const auto found = std::isnan(v) ? known.end() : known.find(v);
    places.push_back(std::isnan(v) ? nan : found == known.end() ? -1 : found->second);
  }
  return places;
}
Results mapped(Call& c, const LabelList& keys, const LabelList& values, const LabelList& otherwise) {
  const size_t count = keys.dtype ? keys.numbers.size() : keys.texts.size();
  require<FormatError>(
      count == (values.dtype ? values.numbers.size() : values.texts.size()), "[label_encoder] expected a value for each key");
  require<FormatError>((values.dtype ? otherwise.numbers.size() : otherwise.texts.size()) == 1, "[label_encoder] expected one default");
  const Shape shape = c.value(0).is_strings() ? c.value(0).strings().shape : c.value(0).tensor().shape();
  const std::vector<int64_t> places = places_of(c, keys);
  if (!values.dtype) {
    std::vector<std::string> items;
    for (const int64_t i : places) items.push_back(i < 0 ? otherwise.texts[0] : values.texts[size_t(i)]);
    return Value(make_ref<Strings>(shape, std::move(items)));
  }
  std::vector<double> items;
  for (const int64_t i : places) items.push_back(i < 0 ? otherwise.numbers[0] : values.numbers[size_t(i)]);
  const TensorHandle y = from_host(host_device(), {items.data(), {shape, DType::float64}});
  return moved_to(c.device(), fn::cast(y, *values.dtype));
}
Results label_encoder(Call& c) {
  const LabelList keys = labels(c, "keys"), values = labels(c, "values");
  return mapped(c, keys, values, default_label(c, values));
}
// Version 1 and CategoryMapper: places in a list of names, in either direction.
Results category_mapper(Call& c, const char* names, const char* numbers) {
  LabelList texts{c.texts(names), {}, {}}, places{{}, {}, DType::int64};
  const Dims list = c.integers(numbers, {});
  for (size_t i = 0; i < texts.texts.size(); ++i) places.numbers.push_back(list.empty() ? double(i) : double(list[int64_t(i)]));
  const bool to_numbers = c.value(0).is_strings();
  const LabelList &keys = to_numbers ? texts : places, &values = to_numbers ? places : texts;
  return mapped(c, keys, values, default_label(c, values));
}
Results label_encoder_1(Call& c) { return category_mapper(c, "classes_strings", ""); }
Results category_mapper_1(Call& c) {
  require<FormatError>(c.integers("cats_int64s", {}).size() == int64_t(c.texts("cats_strings").size()),
      "[category_mapper] expected a number for each string");
  return category_mapper(c, "cats_strings", "cats_int64s");
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr Operator kRows[] = {
    {kMl, "TreeEnsemble", 5, tree_ensemble},
    {kMl, "TreeEnsembleRegressor", 1, tree_regressor},
    {kMl, "TreeEnsembleClassifier", 1, tree_classifier},
    {kMl, "LinearRegressor", 1, linear_regressor},
    {kMl, "LinearClassifier", 1, linear_classifier},
    {kMl, "ArrayFeatureExtractor", 1, array_feature_extractor},
    {kMl, "Binarizer", 1, binarizer},
    {kMl, "Scaler", 1, scaler},
    {kMl, "Normalizer", 1, normalizer},
    {kMl, "Imputer", 1, imputer},
    {kMl, "FeatureVectorizer", 1, feature_vectorizer},
    {kMl, "OneHotEncoder", 1, one_hot_encoder},
    {kMl, "LabelEncoder", 1, label_encoder_1, inputs_at(0)},
    {kMl, "LabelEncoder", 2, label_encoder, inputs_at(0)},
    {kMl, "CategoryMapper", 1, category_mapper_1, inputs_at(0)},
};

}  // namespace

std::span<const Operator> ml_operators() { return kRows; }

}  // namespace pyburn::onnx
