#include "pyburn/onnx/operators/regex.h"

#include <algorithm>

#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn::onnx {

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> points;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead >= 0xf0 && lead < 0xf8 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    char32_t c = more == 3 ? lead & 7 : more == 2 ? lead & 15 : more == 1 ? lead & 31 : lead;
    bool whole = lead < 0x80 || (lead >= 0xc2 && lead < 0xf8 && i + size_t(more) < text.size());
    for (int k = 1; whole && k <= more; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + size_t(k)]);
      whole = (byte & 0xc0) == 0x80;
      c = c << 6 | (byte & 0x3f);
    }
    points.push_back(whole ? c : lead);
    i += whole ? size_t(more) + 1 : 1;
  }
  return points;
}
void append_utf8(std::string& text, char32_t c) {
  if (c < 0x80) text += char(c);
  else if (c < 0x800) text += {char(0xc0 | c >> 6), char(0x80 | (c & 63))};
  else if (c < 0x10000) text += {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
  else text += {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
}

// Writes steps in the order of the expression. A part is the steps from where it began to the end of the list.
class RegexParser {
 public:
  RegexParser(std::string_view pattern, std::vector<Regex::Step>& steps) : text_(code_points(pattern)), steps_(steps), pattern_(pattern) {}
  void run() {
    alternatives();
    if (at_ != text_.size()) refuse("a parenthesis too many");
    emit({Regex::Step::Kind::accept});
  }

 private:
  using Kind = Regex::Step::Kind;
  static constexpr size_t kMostSteps = 20000;
  static constexpr int kDeepest = 100, kMostRepeats = 1000;

  [[noreturn]] void refuse(const char* why) const {
    fail<UnsupportedOp>("[regex] the expression is not supported: {}: got '{}'", why, pattern_);
  }
  bool ends() const { return at_ >= text_.size(); }
  char32_t peek() const { return ends() ? 0 : text_[at_]; }
  bool take(char32_t c) { return !ends() && text_[at_] == c ? (++at_, true) : false; }
  int emit(Regex::Step step) {
    if (steps_.size() >= kMostSteps) refuse("it is too large");
    if (step.kind != Kind::split && step.kind != Kind::jump) step.next = int(steps_.size()) + 1;
    steps_.push_back(std::move(step));
    return int(steps_.size()) - 1;
  }
  int here() const { return int(steps_.size()); }
  // Moves the steps from `begin` on by one place, for a split in front of them.
  void insert_split(int begin) {
    if (steps_.size() >= kMostSteps) refuse("it is too large");
    steps_.insert(steps_.begin() + begin, Regex::Step{Kind::split});
    for (int i = begin + 1; i < here(); ++i) shift(steps_[size_t(i)], begin, 1);
    steps_[size_t(begin)].next = begin + 1;
  }
  static void shift(Regex::Step& s, int from, int by) {
    if (s.next >= from) s.next += by;
    if (s.kind == Kind::split && s.other >= from) s.other += by;
  }

  void alternatives() {
    if (++depth_ > kDeepest) refuse("it is nested too deeply");
    const int begin = here();
    sequence();
    std::vector<int> ends;
    int last = begin;
    while (take('|')) {
      insert_split(last);
      for (int& e : ends) e += e >= last;
      ends.push_back(emit({Kind::jump}));
      steps_[size_t(last)].other = here();
      last = here();
      sequence();
    }
    for (const int e : ends) steps_[size_t(e)].next = here();
    --depth_;
  }
  void sequence() {
    while (!ends() && peek() != '|' && peek() != ')') repeated();
  }
  void repeated() {
    const int begin = here();
    atom();
    while (!ends()) {
      if (take('*')) repeat(begin, 0, -1);
      else if (take('+')) repeat(begin, 1, -1);
      else if (take('?')) repeat(begin, 0, 1);
      else if (peek() == '{' && bounds()) repeat(begin, least_, most_);
      else return;
      take('?');  // lazy: the same texts match as a whole
    }
  }
  bool number(int& value) {
    const size_t start = at_;
    for (value = 0; peek() >= '0' && peek() <= '9'; ++at_) value = std::min(kMostRepeats + 1, value * 10 + int(peek() - '0'));
    return at_ > start;
  }
  bool bounds() {  // {n}, {n,}, {n,m}; else the brace is a character
    const size_t start = at_++;
    if (number(least_)) {
      most_ = least_;
      if (take(',') && !number(most_)) most_ = -1;
      if (take('}')) {
        if (least_ > kMostRepeats || most_ > kMostRepeats || (most_ >= 0 && most_ < least_)) refuse("repeats are out of range");
        return true;
      }
    }
    at_ = start;
    return false;
  }
  void copy_part(const std::vector<Regex::Step>& part, int begin) {
    const int by = here() - begin;
    if (steps_.size() + part.size() > kMostSteps) refuse("it is too large");
    for (Regex::Step s : part) {
      shift(s, 0, by);
      steps_.push_back(std::move(s));
    }
  }
  void repeat(int begin, int least, int most) {
    const std::vector<Regex::Step> part(steps_.begin() + begin, steps_.end());
    steps_.resize(size_t(begin));
    for (int i = 0; i < least; ++i) copy_part(part, begin);
    if (most < 0) {
      const int split = emit({Kind::split});
      steps_[size_t(split)].next = split + 1;
      copy_part(part, begin);
      steps_[size_t(emit({Kind::jump}))].next = split;
      steps_[size_t(split)].other = here();
      return;
    }
    std::vector<int> splits;
    for (int i = least; i < most; ++i) {
      splits.push_back(emit({Kind::split}));
      steps_[size_t(splits.back())].next = here();
      copy_part(part, begin);
    }
    for (const int s : splits) steps_[size_t(s)].other = here();
  }

  void atom() {
    const char32_t c = text_[at_++];
    switch (c) {
      case '(': {
        if (take('?')) {
          if (take('P')) {
          }  // a name: (?P<name>...)
          if (take('<')) {
            while (!ends() && peek() != '>') ++at_;
            if (!take('>')) refuse("a group without an end");
          } else if (!take(':')) refuse("a group with flags");
        }
        alternatives();
        if (!take(')')) refuse("a group without an end");
        return;
      }
      case '[':
        return char_class();
      case '.':
        return emit_set({{'\n', '\n'}}, true);
      case '^':
        emit({Kind::begin});
        return;
      case '$':
        emit({Kind::end});
        return;
      case '*':
      case '+':
      case '?':
        refuse("nothing to repeat");
      case '\\':
        return escaped();
      default:
        return emit_set({{c, c}}, false);
    }
  }
  void emit_set(std::vector<Regex::Range> ranges, bool negated) {
    Regex::Step s{Kind::set};
    s.ranges = std::move(ranges), s.negated = negated;
    emit(std::move(s));
  }
  void escaped() {
    if (ends()) refuse("a backslash at the end");
    const char32_t c = peek();
    const Kind edge = c == 'A'   ? Kind::begin
                      : c == 'z' ? Kind::end
                      : c == 'b' ? Kind::word_edge
                      : c == 'B' ? Kind::no_word_edge
                                 : Kind::set;
    if (edge != Kind::set) return ++at_, void(emit({edge}));
    std::vector<Regex::Range> ranges;
    const bool negated = class_escape(ranges);
    emit_set(std::move(ranges), negated);
  }
  // The escape after a backslash, as ranges; true where it means everything else.
  bool class_escape(std::vector<Regex::Range>& ranges) {
    if (ends()) refuse("a backslash at the end");
    const char32_t c = text_[at_++];
    switch (c) {
      case 'd':
      case 'D':
        ranges = {{'0', '9'}};
        return c == 'D';
      case 'w':
      case 'W':
        ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
        return c == 'W';
      case 's':
      case 'S':
        ranges = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
        return c == 'S';
      case 'n':
        ranges = {{'\n', '\n'}};
        return false;
      case 't':
        ranges = {{'\t', '\t'}};
        return false;
      case 'r':
        ranges = {{'\r', '\r'}};
        return false;
      case 'f':
        ranges = {{'\f', '\f'}};
        return false;
      case 'v':
        ranges = {{'\v', '\v'}};
        return false;
      case 'x': {
        char32_t value = 0;
        const bool braced = take('{');
        for (int digits = 0; digits < (braced ? 6 : 2); ++digits, ++at_) {
          const char32_t h = peek();
          const int v = h >= '0' && h <= '9'   ? int(h - '0')
                        : h >= 'a' && h <= 'f' ? int(h - 'a') + 10
                        : h >= 'A' && h <= 'F' ? int(h - 'A') + 10
                                               : -1;
          if (v < 0) break;
          value = value * 16 + char32_t(v);
        }
        if (braced && !take('}')) refuse("a number of a character without an end");
        ranges = {{value, value}};
        return false;
      }
      default:
        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) refuse("an escape");
        ranges = {{c, c}};
        return false;
    }
  }
  void char_class() {
    const bool negated = take('^');
    std::vector<Regex::Range> all;
    for (bool first = true; first || peek() != ']'; first = false) {
      if (ends()) refuse("a class without an end");
      if (peek() == '[' && at_ + 1 < text_.size() && text_[at_ + 1] == ':') refuse("a named class");
      std::vector<Regex::Range> ranges;
      char32_t low = text_[at_++];
      if (low == '\\') {
        if (class_escape(ranges)) {  // everything else, as ranges
          char32_t next = 0;
          std::vector<Regex::Range> others;
          for (const auto& [a, b] : ranges) {
            if (a > next) others.emplace_back(next, a - 1);
            next = b + 1;
          }
          others.emplace_back(next, 0x10ffff);
          ranges = std::move(others);
        }
        low = ranges[0].first;
      } else ranges = {{low, low}};
      if (ranges.size() == 1 && ranges[0].first == ranges[0].second && peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        char32_t high = text_[at_++];
        if (high == '\\') {
          std::vector<Regex::Range> end;
          if (class_escape(end) || end.size() != 1) refuse("a range of classes");
          high = end[0].first;
        }
        if (high < low) refuse("a range that ends before it begins");
        ranges = {{low, high}};
      }
      all.insert(all.end(), ranges.begin(), ranges.end());
    }
    ++at_;
    emit_set(std::move(all), negated);
  }

  const std::vector<char32_t> text_;
  size_t at_ = 0;
  std::vector<Regex::Step>& steps_;
  std::string_view pattern_;
  int depth_ = 0, least_ = 0, most_ = 0;
};

Regex::Regex(std::string_view pattern) { RegexParser(pattern, steps_).run(); }

// Follows what takes no character, with a list instead of recursion.
void Regex::add(std::vector<int>& threads, std::vector<int>& seen, int mark, int step, Place place) const {
  std::vector<int> open{step};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    if (seen[size_t(i)] == mark) continue;
    seen[size_t(i)] = mark;
    const Step& s = steps_[size_t(i)];
    switch (s.kind) {
      case Step::Kind::split:
        open.push_back(s.other), open.push_back(s.next);
        break;
      case Step::Kind::jump:
        open.push_back(s.next);
        break;
      case Step::Kind::begin:
        if (place.begin) open.push_back(s.next);
        break;
      case Step::Kind::end:
        if (place.end) open.push_back(s.next);
        break;
      case Step::Kind::word_edge:
      case Step::Kind::no_word_edge:
        if (place.word_edge == (s.kind == Step::Kind::word_edge)) open.push_back(s.next);
        break;
      default:
        threads.push_back(i);
    }
  }
}

bool Regex::matches_all_of(std::string_view text) const {
  const std::vector<char32_t> points = code_points(text);
  return longest_match(points, 0) == points.size();
}

std::optional<size_t> Regex::longest_match(std::span<const char32_t> points, size_t from) const {
  std::vector<int> threads, next, seen(steps_.size(), -1);
  InterruptTicker ticker;
  const auto is_word = [&](size_t k) {
    const char32_t c = k < points.size() ? points[k] : 0;
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
  };
  const auto before = [&](size_t k) { return Place{k == 0, k == points.size(), (k > 0 && is_word(k - 1)) != is_word(k)}; };
  const auto accepts = [&] {
    return std::any_of(threads.begin(), threads.end(), [&](int i) { return steps_[size_t(i)].kind == Step::Kind::accept; });
  };
  std::optional<size_t> longest;
  add(threads, seen, int(from), 0, before(from));
  if (accepts()) longest = 0;
  for (size_t k = from; k < points.size() && !threads.empty(); ++k) {
    ticker.work(int64_t(threads.size()) * 8);
    next.clear();
    for (const int i : threads) {
      const Step& s = steps_[size_t(i)];
      if (s.kind != Step::Kind::set) continue;
      const bool inside =
          std::any_of(s.ranges.begin(), s.ranges.end(), [&](const Range& r) { return points[k] >= r.first && points[k] <= r.second; });
      if (inside != s.negated) add(next, seen, int(k) + 1, s.next, before(k + 1));
    }
    std::swap(threads, next);
    if (accepts()) longest = k + 1 - from;
  }
  return longest;
}

}  // namespace pyburn::onnx
