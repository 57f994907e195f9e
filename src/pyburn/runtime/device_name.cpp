#include "pyburn/runtime/device_name.h"

#include <algorithm>

#include "pyburn/support/error.h"
#include "pyburn/support/utf8.h"

namespace pyburn {
namespace {

// Not those of <cctype>: they depend on the locale.
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_control(char c) { return uint8_t(c) < 0x20 || c == 0x7f; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_name_character(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}
bool ends_text(char c) { return c == '(' || c == ')' || c == ',' || c == '"'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  DeviceName parse() {
    DeviceName result = device(1);
    if (at_ < text_.size()) fail_here(peek() == ')' ? "unmatched closing parenthesis" : "expected the end of the name");
    return result;
  }

 private:
  bool ends() const { return at_ == text_.size(); }
  char peek() const { return ends() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (ends() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (!ends() && is_blank(text_[at_])) ++at_;
  }
  [[noreturn]] void fail_at(size_t position, std::string_view what) const { throw DeviceError(pointed_at(what, text_, position)); }
  [[noreturn]] void fail_here(std::string_view what) const { fail_at(at_, what); }

  DeviceName device(int depth) {
    skip_blanks();
    DeviceName d;
    d.position = at_;
    while (!ends() && is_name_character(text_[at_])) d.name += is_upper(text_[at_]) ? char(text_[at_] + 'a' - 'A') : text_[at_], ++at_;
    if (d.name.empty()) fail_here(ends() ? "expected a name: got the end of the text" : "expected a name");
    if (text_.substr(at_).starts_with("://")) return address(std::move(d), depth);
    if (depth > kDeepestDevice) fail_at(d.position, format("at most {} backends can be nested", kDeepestDevice));
    skip_blanks();
    if (take(':')) {
      const size_t start = at_;
      d.options = text();
      if (d.options.empty()) fail_at(start, format("expected options after '{}:'", d.name));
    }
    if (peek() == '(') arguments(d, depth);
    skip_blanks();
    return d;
  }

  DeviceName address(DeviceName d, int depth) {
    if (depth == 1) fail_at(d.position, "write an address in parentheses, as in remote(ws://host:1)");
    at_ = d.position;
    d.name.clear();
    d.options = text();
    return d;
  }

  void arguments(DeviceName& d, int depth) {
    const size_t open = at_++;
    d.parenthesised = true;
    do d.arguments.push_back(argument(depth + 1));
    while (take(','));
    if (ends()) fail_at(open, "unclosed parenthesis");
    if (!take(')')) fail_here("expected ',' or ')'");
  }

  DeviceName argument(int depth) {
    skip_blanks();
    if (peek() != '"') return device(depth);
    DeviceName d;
    d.position = at_;
    d.options = text();
    if (d.options.find("://") == d.options.npos) fail_at(d.position, "expected an address with '://' in quotes");
    return d;
  }

  // Options or an address; what follows is '(', ')', ',' or the end.
  std::string text() {
    skip_blanks();
    if (peek() == '"') return quoted();
    const size_t start = at_;
    while (!ends() && !ends_text(text_[at_])) {
      if (is_control(text_[at_]) && !is_blank(text_[at_])) fail_here("control characters are not allowed");
      ++at_;
    }
    std::string_view found = text_.substr(start, at_ - start);
    while (!found.empty() && is_blank(found.back())) found.remove_suffix(1);
    if (const auto control = std::find_if(found.begin(), found.end(), is_control); control != found.end())
      fail_at(start + size_t(control - found.begin()), "control characters are not allowed");
    return std::string(found);
  }

  std::string quoted() {
    const size_t open = at_++;
    std::string found;
    while (!take('"')) {
      take('\\');
      if (ends()) fail_at(open, "unclosed quotation mark");
      if (is_control(peek())) fail_here("control characters are not allowed");
      found += text_[at_++];
    }
    skip_blanks();
    return found;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

DeviceName parse_device_name(std::string_view text) {
  require<DeviceError>(text.size() <= kLongestDeviceName, "[device] the name of a device must have at most {} bytes: got {}",
      kLongestDeviceName, text.size());
  require<DeviceError>(is_utf8(text), "[device] the name of a device must be valid UTF-8");
  return Parser(text).parse();
}

namespace {
std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}
}  // namespace

std::string quoted_where_needed(std::string_view options) {
  const bool plain = std::none_of(options.begin(), options.end(), ends_text) && !options.empty() && !is_blank(options.front()) &&
                     !is_blank(options.back()) && !options.starts_with("//");  // after the colon it would read as an address
  return plain ? std::string(options) : in_quotes(options);
}

std::string address_text(std::string_view address) {
  const std::string_view scheme = address.substr(0, std::min(address.find("://"), address.size()));
  const bool plain = !scheme.empty() && std::all_of(scheme.begin(), scheme.end(), is_name_character);
  return plain ? quoted_where_needed(address) : in_quotes(address);
}

std::string to_text(const DeviceName& d) {
  if (d.is_address()) return address_text(d.options);
  std::string text = d.name;
  if (!d.options.empty()) text += ":" + quoted_where_needed(d.options);
  if (!d.parenthesised) return text;
  text += "(";
  for (size_t i = 0; i < d.arguments.size(); ++i) text += (i ? ", " : "") + to_text(d.arguments[i]);
  return text + ")";
}

bool is_backend_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_name_character(c) && !is_upper(c); });
}

std::string pointed_at(std::string_view message, std::string_view text, size_t position) {
  constexpr size_t kBefore = 48, kAfter = 24;
  auto continues = [&](size_t i) { return i < text.size() && (uint8_t(text[i]) & 0xc0) == 0x80; };  // inside of a character
  size_t first = position > kBefore ? position - kBefore : 0, end = std::min(text.size(), position + kAfter);
  while (continues(first)) --first;
  while (continues(end)) ++end;
  std::string shown = first > 0 ? "..." : "", mark(shown.size(), ' ');
  for (size_t i = first; i < end; ++i) {
    shown += is_control(text[i]) ? ' ' : text[i];
    if (i < position && !continues(i)) mark += ' ';
  }
  if (end < text.size()) shown += "...";
  return format("[device] {}, at byte {} of the name\n    {}\n    {}^", message, position, shown, mark);
}

}  // namespace pyburn
