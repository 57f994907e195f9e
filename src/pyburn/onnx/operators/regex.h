// Regular expressions in RE2's syntax, as far as it is common: literals, classes, groups, alternatives, repeats, anchors. Matching takes
// time in proportion to text times expression, and no stack.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pyburn::onnx {

class Regex {
 public:
  explicit Regex(std::string_view pattern);  // UnsupportedOp for what is not understood
  bool matches_all_of(std::string_view text) const;
  // The length of the longest match that begins at `from`; nothing where none does.
  std::optional<size_t> longest_match(std::span<const char32_t> text, size_t from) const;

 private:
  friend class RegexParser;
  using Range = std::pair<char32_t, char32_t>;
  struct Step {
    enum class Kind : uint8_t { set, split, jump, begin, end, word_edge, no_word_edge, accept } kind;
    int next = 0, other = 0;  // of split: both
    std::vector<Range> ranges = {};
    bool negated = false;
  };
  struct Place {  // between two characters
    bool begin, end, word_edge;
  };
  void add(std::vector<int>& threads, std::vector<int>& seen, int mark, int step, Place place) const;
  std::vector<Step> steps_;
};

// The code points of UTF-8; bytes that are none stand for themselves.
std::vector<char32_t> code_points(std::string_view text);
void append_utf8(std::string& text, char32_t c);

}  // namespace pyburn::onnx
