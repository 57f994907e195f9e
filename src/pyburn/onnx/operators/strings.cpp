// Tensors of strings.
#include <algorithm>
#include <map>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/onnx/operators/regex.h"
#include "pyburn/onnx/operators/string_tensors.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {

const Strings& strings_of(Call& c, int i) {
  const Value& v = c.value(i);
  require<FormatError>(v.is_strings(), "[onnx] input {} must be a tensor of strings: got {}", i, to_text(v));
  return v.strings();
}

namespace {

Value made(Shape shape, std::vector<std::string> items) { return make_ref<Strings>(std::move(shape), std::move(items)); }

// Calls each(x, y) for every element of a result that two tensors are broadcast to; returns its shape.
template <class Each>
Shape for_pairs(const Strings& a, const Strings& b, const Each& each) {
  const Shape shape = broadcast_shapes(a.shape, b.shape);
  // The place in x of a place in the result: axes of size 1 stay at 0.
  const auto source = [&](const Shape& x, int64_t at) {
    int64_t place = 0, step = 1;
    for (int axis = shape.rank() - 1, own = x.rank() - 1; axis >= 0; --axis, --own) {
      const int64_t i = at % shape[axis];
      at /= shape[axis];
      if (own < 0) continue;
      place += x[own] == 1 ? 0 : i * step;
      step *= x[own];
    }
    return size_t(place);
  };
  for (int64_t i = 0, n = shape.numel(); i < n; ++i) each(a.items[source(a.shape, i)], b.items[source(b.shape, i)]);
  return shape;
}
Results concat(Call& c) {
  std::vector<std::string> items;
  const Shape shape =
      for_pairs(strings_of(c, 0), strings_of(c, 1), [&](const std::string& x, const std::string& y) { items.push_back(x + y); });
  return made(shape, std::move(items));
}

std::vector<std::string> split_text(std::string_view text, const std::string& delimiter, int64_t most) {
  std::vector<std::string> parts;
  constexpr std::string_view spaces = " \t\n\v\f\r";
  if (!delimiter.empty()) {
    for (size_t end; int64_t(parts.size()) < most && (end = text.find(delimiter)) != text.npos; text.remove_prefix(end + delimiter.size()))
      parts.emplace_back(text.substr(0, end));
    parts.emplace_back(text);
    return parts;
  }
  while (true) {
    const size_t begin = text.find_first_not_of(spaces);
    if (begin == text.npos) return parts;
    text.remove_prefix(begin);
    const size_t end = int64_t(parts.size()) < most ? text.find_first_of(spaces) : text.npos;
    if (end == text.npos) {
      const size_t last = text.find_last_not_of(spaces);
      parts.emplace_back(text.substr(0, last + 1));
      return parts;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}
Results split(Call& c) {
  const Strings& x = strings_of(c, 0);
  const std::string delimiter = c.text("delimiter", "");
  const int64_t most = c.integer("maxsplit", std::numeric_limits<int64_t>::max());
  std::vector<std::vector<std::string>> rows;
  std::vector<int64_t> counts;
  size_t width = 0;
  for (const std::string& text : x.items) {
    rows.push_back(split_text(text, delimiter, most));
    counts.push_back(int64_t(rows.back().size()));
    width = std::max(width, rows.back().size());
  }
  Shape shape = x.shape;
  shape.push_back(int64_t(width));
  checked_numel(shape);
  std::vector<std::string> items;
  for (auto& row : rows) {
    row.resize(width);
    for (std::string& part : row) items.push_back(std::move(part));
  }
  return Values{made(shape, std::move(items)), Value::on_host(from_host(host_device(), {counts.data(), {x.shape, DType::int64}}))};
}

// The letter in the other case: of Latin, Greek and Cyrillic.
char32_t in_case(char32_t c, bool upper) {
  const auto between = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
  if (upper) {
    if (between('a', 'z') || (between(0xe0, 0xfe) && c != 0xf7) || (between(0x3b1, 0x3c9) && c != 0x3c2) || between(0x430, 0x44f))
      return c - 32;
    if (between(0x450, 0x45f)) return c - 80;
    if ((between(0x100, 0x137) || between(0x14a, 0x177)) && c % 2 == 1) return c - 1;
  } else {
    if (between('A', 'Z') || (between(0xc0, 0xde) && c != 0xd7) || (between(0x391, 0x3a9) && c != 0x3a2) || between(0x410, 0x42f))
      return c + 32;
    if (between(0x400, 0x40f)) return c + 80;
    if ((between(0x100, 0x137) || between(0x14a, 0x177)) && c % 2 == 0) return c + 1;
  }
  return c;
}
std::string text_in_case(const std::string& text, bool upper) {
  std::string changed;
  for (const char32_t point : code_points(text)) append_utf8(changed, in_case(point, upper));
  return changed;
}

Results normalize(Call& c) {
  const Strings& x = strings_of(c, 0);
  require(x.shape.rank() == 1 || (x.shape.rank() == 2 && x.shape[0] == 1), "[string_normalizer] expected (C) or (1, C): got {}", x.shape);
  const std::string action = c.text("case_change_action", "NONE");
  require<FormatError>(action == "NONE" || action == "LOWER" || action == "UPPER", "[onnx] no such case_change_action: got '{}'", action);
  const bool sensitive = c.flag("is_case_sensitive");
  std::vector<std::string> stopped = c.texts("stopwords"), items;
  if (!sensitive)
    for (std::string& word : stopped) word = text_in_case(word, false);
  for (const std::string& text : x.items) {
    if (std::find(stopped.begin(), stopped.end(), sensitive ? text : text_in_case(text, false)) != stopped.end()) continue;
    items.push_back(action == "NONE" ? text : text_in_case(text, action == "UPPER"));
  }
  if (items.empty()) items.emplace_back();
  const auto count = int64_t(items.size());
  return made(x.shape.rank() == 1 ? Shape{count} : Shape{1, count}, std::move(items));
}

Results regex_full_match(Call& c) {
  const Strings& x = strings_of(c, 0);
  const Regex expression(c.text("pattern"));
  std::vector<uint8_t> matches;
  for (const std::string& text : x.items) matches.push_back(expression.matches_all_of(text));
  return Value::on_host(from_host(host_device(), {matches.data(), {x.shape, DType::boolean}}));
}

// com.microsoft: the words of each text along a new last axis, which shorter texts fill up. Words are what an expression matches, what is
// between separators, or single characters.
class WordSplitter {
 public:
  explicit WordSplitter(Call& c) : shortest_(size_t(std::max<int64_t>(1, c.integer("mincharnum", 1)))) {
    if (c.has("tokenexp")) words_.emplace(c.text("tokenexp"));
    for (const std::string& expression : c.texts("separators"))
      if (!expression.empty()) separators_.emplace_back(expression);
    require<FormatError>(words_ || c.has("separators"), "[tokenizer] expected separators or tokenexp");
  }
  std::vector<std::string> operator()(const std::string& text) const {
    const std::vector<char32_t> points = code_points(text);
    std::vector<std::string> words;
    size_t begin = 0;
    const auto add = [&](size_t from, size_t to) {
      if (to - from < shortest_) return;
      std::string& word = words.emplace_back();
      for (size_t i = from; i < to; ++i) append_utf8(word, points[i]);
    };
    for (size_t at = 0; at < points.size();) {
      if (words_) {
        const size_t length = words_->longest_match(points, at).value_or(0);
        add(at, at + length);
        at += std::max<size_t>(1, length);
      } else if (separators_.empty()) {
        add(at, at + 1);
        ++at;
      } else if (const size_t length = separator(points, at)) {
        add(begin, at);
        begin = at += length;
      } else ++at;
    }
    if (!words_ && !separators_.empty()) add(begin, points.size());
    return words;
  }

 private:
  size_t separator(std::span<const char32_t> points, size_t at) const {
    for (const Regex& r : separators_)
      if (const size_t length = r.longest_match(points, at).value_or(0)) return length;
    return 0;
  }
  size_t shortest_;  // characters
  std::optional<Regex> words_;
  std::vector<Regex> separators_;
};

Results tokenizer(Call& c) {
  const Strings& x = strings_of(c, 0);
  const auto split_words = c.prepared<WordSplitter>([&] { return WordSplitter(c); });
  const bool mark = c.flag("mark");
  const std::string pad = c.text("pad_value", "");
  std::vector<std::vector<std::string>> rows;
  size_t width = 0;
  for (const std::string& text : x.items) {
    rows.push_back((*split_words)(text));
    width = std::max(width, rows.back().size());
  }
  std::vector<std::string> items;
  const size_t marks = mark && width > 0 ? 1 : 0;  // before and after
  Shape shape = x.shape;
  shape.push_back(int64_t(width + 2 * marks));
  checked_numel(shape);
  for (auto& row : rows) {
    row.resize(width, pad);
    if (marks) items.emplace_back("\x02");
    for (std::string& word : row) items.push_back(std::move(word));
    if (marks) items.emplace_back("\x03");
  }
  return made(shape, std::move(items));
}

// Counts sequences of words (n-grams) that a pool lists.
class NgramPool {
 public:
  template <class Word>
  using Map = std::map<std::vector<Word>, std::pair<int64_t, double>>;  // the place in the result, and the weight

  explicit NgramPool(Call& c)
      : mode_(c.text("mode")),
        shortest_(c.integer("min_gram_length")),
        longest_(c.integer("max_gram_length")),
        skips_(c.integer("max_skip_count")) {
    require<FormatError>(mode_ == "TF" || mode_ == "IDF" || mode_ == "TFIDF", "[onnx] no such mode of TfIdfVectorizer: got '{}'", mode_);
    require<FormatError>(shortest_ > 0 && longest_ >= shortest_ && longest_ < 1 << 20 && skips_ >= 0 && skips_ < 1 << 20,
        "[onnx] lengths and skips are out of range: got {} to {}, {}", shortest_, longest_, skips_);
    const Dims starts = c.integers("ngram_counts", {}), places = c.integers("ngram_indexes", {});
    const std::vector<double> weights = c.reals("weights");
    const std::vector<std::string> texts = c.texts("pool_strings");
    const Dims numbers = c.integers("pool_int64s", {});
    is_text_ = c.has("pool_strings");
    const auto size = is_text_ ? int64_t(texts.size()) : int64_t(numbers.size());
    size_t gram = 0;
    for (int64_t k = 0; k < starts.size(); ++k) {
      const int64_t length = k + 1, begin = starts[k], end = k + 1 < starts.size() ? starts[k + 1] : size;
      require<FormatError>(begin >= 0 && begin <= end && end <= size && (end - begin) % length == 0,
          "[onnx] ngram_counts do not fit the pool: got {}", starts);
      for (int64_t i = begin; i < end; i += length, ++gram) {
        require<FormatError>(gram < size_t(places.size()) && (weights.empty() || gram < weights.size()),
            "[onnx] expected a place and a weight for each n-gram");
        const std::pair<int64_t, double> what{places[int64_t(gram)], weights.empty() ? 1 : weights[gram]};
        if (length < shortest_ || length > longest_) continue;
        if (is_text_) texts_[{texts.begin() + i, texts.begin() + i + length}] = what;
        else numbers_[{numbers.begin() + i, numbers.begin() + i + length}] = what;
      }
    }
    for (const int64_t place : places) {
      require<FormatError>(place >= 0 && place < int64_t(1) << 31, "[onnx] ngram_indexes are out of range: got {}", place);
      width_ = std::max(width_, place + 1);
    }
  }
  bool is_text() const { return is_text_; }
  int64_t width() const { return width_; }
  const Map<std::string>& pool(const std::string*) const { return texts_; }
  const Map<int64_t>& pool(const int64_t*) const { return numbers_; }

  template <class Word>
  void count(std::span<const Word> words, float* result) const {
    const auto& grams = pool(static_cast<const Word*>(nullptr));
    const auto n = int64_t(words.size());
    std::vector<double> weight(size_t(width_), 0.0);
    for (int64_t length = shortest_; length <= longest_; ++length)
      for (int64_t step = 1; step <= (length == 1 ? 1 : skips_ + 1); ++step)
        for (int64_t i = 0; i + (length - 1) * step < n; ++i) {
          std::vector<Word> gram;
          for (int64_t k = 0; k < length; ++k) gram.push_back(words[size_t(i + k * step)]);
          const auto found = grams.find(gram);
          if (found == grams.end()) continue;
          result[found->second.first] += 1;
          weight[size_t(found->second.first)] = found->second.second;
        }
    if (mode_ == "TF") return;
    for (int64_t i = 0; i < width_; ++i) result[i] = float(double(mode_ == "IDF" && result[i] > 0 ? 1 : result[i]) * weight[size_t(i)]);
  }

 private:
  std::string mode_;
  int64_t shortest_, longest_, skips_, width_ = 0;
  bool is_text_ = false;
  Map<std::string> texts_;
  Map<int64_t> numbers_;
};

Results tf_idf(Call& c) {
  const auto kept = c.prepared<NgramPool>([&] { return NgramPool(c); });
  const NgramPool& pool = *kept;
  const Shape shape = pool.is_text() ? strings_of(c, 0).shape : c.value(0).tensor().shape();
  require(shape.rank() == 1 || shape.rank() == 2, "[tf_idf_vectorizer] expected (C) or (N, C): got {}", shape);
  const int64_t rows = shape.rank() == 2 ? shape[0] : 1, words = shape.back(), size = Checked(rows) * pool.width();
  std::vector<float> counts(size_t(size), 0.0f);
  const std::vector<int64_t> numbers = pool.is_text() ? std::vector<int64_t>() : c.read_integers(0);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = counts.data() + r * pool.width();
    if (pool.is_text()) pool.count(std::span(strings_of(c, 0).items).subspan(size_t(r * words), size_t(words)), row);
    else pool.count(std::span<const int64_t>(numbers).subspan(size_t(r * words), size_t(words)), row);
  }
  return reals_on(c.device(), std::move(counts), shape.rank() == 2 ? Shape{rows, pool.width()} : Shape{pool.width()});
}

}  // namespace

Value equal_strings(Call& c) {
  std::vector<uint8_t> same;
  const Shape shape =
      for_pairs(strings_of(c, 0), strings_of(c, 1), [&](const std::string& x, const std::string& y) { same.push_back(x == y); });
  return Value::on_host(from_host(host_device(), {same.data(), {shape, DType::boolean}}));
}

MovedStrings::MovedStrings(Values& inputs) {
  int64_t next = 0;
  for (Value& v : inputs) {
    if (!v.is_strings()) continue;
    std::vector<int64_t> places(v.strings().items.size());
    for (int64_t& place : places) place = next++;
    sources_.push_back(v);
    v = Value::on_host(from_host(host_device(), {places.data(), {sources_.back().strings().shape, DType::int64}}));
  }
}
void MovedStrings::put_back(Values& results) const {
  std::vector<const std::string*> all;
  for (const Value& v : sources_)
    for (const std::string& text : v.strings().items) all.push_back(&text);
  for (Value& v : results) {
    if (!v.is_tensor() || v.tensor().dtype() != DType::int64) continue;
    std::vector<int64_t> places(size_t(v.tensor().numel()));
    to_host(v.tensor(), {places.data(), v.tensor().meta()});
    std::vector<std::string> items;
    for (const int64_t place : places) {
      require<FormatError>(place >= 0 && place < int64_t(all.size()), "[onnx] the operator makes elements: it does not take strings");
      items.push_back(*all[size_t(place)]);
    }
    v = made(v.tensor().shape(), std::move(items));
  }
}

namespace {

constexpr Operator kRows[] = {
    {"", "StringConcat", 20, concat},
    {"", "StringSplit", 20, split},
    {"", "StringNormalizer", 10, normalize},
    {"", "RegexFullMatch", 20, regex_full_match},
    {"com.microsoft", "Tokenizer", 1, tokenizer},
    {"", "TfIdfVectorizer", 9, tf_idf, inputs_at(0)},
};

}  // namespace

std::span<const Operator> string_operators() { return kRows; }

}  // namespace pyburn::onnx
