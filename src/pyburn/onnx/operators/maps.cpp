// Maps: what classifiers of ai.onnx.ml give for each row, and rows of features by name.
#include <map>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

template <class T>
std::vector<T> elements_of(const TensorHandle& list, DType dtype) {
  const TensorHandle plain = list.dtype() == dtype ? list : fn::cast(list, dtype);
  std::vector<T> values(size_t(plain.numel()));
  to_host(plain, {values.data(), plain.meta()});
  return values;
}

// One map for each row, from the names of the columns.
Results zip_map(Call& c) {
  const std::vector<std::string> texts = c.texts("classlabels_strings");
  const Dims numbers = c.integers("classlabels_int64s", {});
  const int64_t count = texts.empty() ? numbers.size() : int64_t(texts.size());
  const TensorHandle x = moved_to(host_device(), c.input(0));
  require((x.rank() == 1 || x.rank() == 2) && x.shape().back() == count, "[zip_map] expected (N, {}), a column for each label: got {}",
      count, x.shape());
  const Value keys = texts.empty() ? host_integers(numbers) : Value(make_ref<Strings>(Shape{count}, texts));
  const LevelScope plain(host_device().leaf());
  const TensorHandle rows = fn::reshape(x, {-1, count});
  Values maps;
  for (int64_t i = 0; i < rows.shape()[0]; ++i) maps.emplace_back(make_ref<Map>(keys, Value::on_host(fn::select(rows, 0, i))));
  return Value(make_ref<Sequence>(std::move(maps)));
}

// A row with the values of the keys of a vocabulary; 0, or nothing, for keys that the map does not have.
Results dict_vectorizer(Call& c) {
  const Map& m = c.value(0).map();
  std::map<std::string, int64_t> texts;
  std::map<int64_t, int64_t> numbers;
  for (const std::string& word : c.texts("string_vocabulary")) texts.emplace(word, int64_t(texts.size()));
  for (const int64_t word : c.integers("int64_vocabulary", {})) numbers.emplace(word, int64_t(numbers.size()));
  const auto width = int64_t(texts.empty() ? numbers.size() : texts.size());
  std::vector<std::pair<size_t, int64_t>> places;  // (place in the map, column)
  const auto look = [&](const auto& keys, const auto& vocabulary) {
    for (size_t i = 0; i < keys.size(); ++i)
      if (const auto found = vocabulary.find(keys[i]); found != vocabulary.end()) places.emplace_back(i, found->second);
  };
  if (m.keys.is_strings()) look(m.keys.strings().items, texts);
  else look(elements_of<int64_t>(m.keys.tensor(), DType::int64), numbers);
  if (m.values.is_strings()) {
    std::vector<std::string> row(size_t(width), "");
    for (const auto& [from, to] : places) row[size_t(to)] = m.values.strings().items[from];
    return Value(make_ref<Strings>(Shape{1, width}, std::move(row)));
  }
  const std::vector<double> values = elements_of<double>(m.values.tensor(), DType::float64);
  std::vector<double> row(size_t(width), 0.0);
  for (const auto& [from, to] : places) row[size_t(to)] = values[from];
  return moved_to(
      c.device(), fn::cast(from_host(host_device(), {row.data(), {Shape{1, width}, DType::float64}}), m.values.tensor().dtype()));
}

// The values of a map in the order of its keys; sparse: at the places that its keys name.
Results cast_map(Call& c) {
  const Map& m = c.value(0).map();
  const std::string form = c.text("map_form", "DENSE"), to = c.text("cast_to", "TO_FLOAT");
  require<FormatError>(form == "DENSE" || form == "SPARSE", "[cast_map] map_form must be DENSE or SPARSE: got '{}'", form);
  require<FormatError>(to == "TO_FLOAT" || to == "TO_INT64" || to == "TO_STRING",
      "[cast_map] cast_to must be TO_FLOAT, TO_INT64 or TO_STRING: got '{}'", to);
  const std::vector<int64_t> keys = elements_of<int64_t>(m.keys.tensor(), DType::int64);
  const int64_t most = c.integer("max_map", 1), width = form == "DENSE" ? int64_t(keys.size()) : most;
  require<FormatError>(width >= 0 && width < int64_t(1) << 31, "[cast_map] max_map is out of range: got {}", most);
  std::map<int64_t, size_t> ordered;
  for (size_t i = 0; i < keys.size(); ++i) ordered[keys[i]] = i;
  std::vector<std::pair<size_t, int64_t>> places;
  for (const auto& [key, from] : ordered) {
    const int64_t column = form == "DENSE" ? int64_t(places.size()) : key;
    require<IndexError>(column >= 0 && column < width, "[cast_map] the key {} does not fit max_map {}", key, most);
    places.emplace_back(from, column);
  }
  const auto row_of = [&](auto row, const auto& values) {
    for (const auto& [from, column] : places) row[size_t(column)] = values[from];
    return row;
  };
  if (m.values.is_strings() || to == "TO_STRING") {
    require<FormatError>(m.values.is_strings() && to == "TO_STRING", "[cast_map] cannot cast {} to '{}'", to_text(m.values), to);
    return Value(make_ref<Strings>(Shape{1, width}, row_of(std::vector<std::string>(size_t(width)), m.values.strings().items)));
  }
  std::vector<double> row = row_of(std::vector<double>(size_t(width), 0.0), elements_of<double>(m.values.tensor(), DType::float64));
  const TensorHandle y = from_host(host_device(), {row.data(), {Shape{1, width}, DType::float64}});
  return moved_to(c.device(), fn::cast(y, to == "TO_FLOAT" ? DType::float32 : DType::int64));
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr Operator kRows[] = {
    {kMl, "ZipMap", 1, zip_map},
    {kMl, "DictVectorizer", 1, dict_vectorizer},
    {kMl, "CastMap", 1, cast_map},
};

}  // namespace

std::span<const Operator> map_operators() { return kRows; }

}  // namespace pyburn::onnx
