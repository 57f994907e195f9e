// Options of a command line: "--name VALUE", flags, and what stands alone.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pyburn/support/error.h"

namespace pyburn::fuzz {

class Options {
 public:
  explicit Options(const char* help) : help_(help) {}

  void add(const char* name, int64_t& to) {
    values_[name] = [&to](const char* text) { to = std::stoll(text); };
  }
  void add(const char* name, uint64_t& to) {
    values_[name] = [&to](const char* text) { to = std::stoull(text); };
  }
  void add(const char* name, std::string& to) {
    values_[name] = [&to](const char* text) { to = text; };
  }
  void add(const char* name, std::function<void(const char*)> read) { values_[name] = std::move(read); }
  void add(const char* name, bool& flag, bool given = true) {
    flags_[name] = [&flag, given] { flag = given; };
  }

  // What stands alone; --help prints the help and ends the process.
  std::vector<std::string> parse(int argc, char** argv) const {
    std::vector<std::string> rest;
    for (int i = 1; i < argc; ++i) {
      const std::string name = argv[i];
      if (name == "--help") std::fputs(help_, stdout), std::exit(0);
      if (!name.starts_with("--")) {
        rest.push_back(name);
      } else if (const auto flag = flags_.find(name); flag != flags_.end()) {
        flag->second();
      } else {
        const auto value = values_.find(name);
        require<ValueError>(value != values_.end(), "unknown option: got {}; see --help", name);
        require<ValueError>(++i < argc, "{} needs a value; see --help", name);
        value->second(argv[i]);
      }
    }
    return rest;
  }

 private:
  const char* help_;
  std::map<std::string, std::function<void(const char*)>> values_;
  std::map<std::string, std::function<void()>> flags_;
};

}  // namespace pyburn::fuzz
