#include "pyburn/optim/rate_plot.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "pyburn/support/error.h"
#include "pyburn/support/file_error.h"

namespace pyburn::optim {
namespace {

constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf"};
constexpr int kTicks = 5;

std::string printed(const char* pattern, auto... values) {
  std::array<char, 160> text;
  const int length = std::snprintf(text.data(), text.size(), pattern, values...);
  return {text.data(), size_t(length)};
}

struct Range {
  double low, high;
  double part(double value) const { return (value - low) / (high - low); }
};

// Of all finite rates; with some room where they are all the same.
Range range_of(const Curves& curves) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto& curve : curves)
    for (double rate : curve)
      if (std::isfinite(rate)) low = std::min(low, rate), high = std::max(high, rate);
  if (high < low) low = high = 0;
  if (high > low) return {low, high};
  const double room = (low == 0 ? 1 : std::abs(low)) / 2;
  return {low - room, high + room};
}

size_t longest_of(const Curves& curves) {
  size_t longest = 0;
  for (const auto& curve : curves) longest = std::max(longest, curve.size());
  require<ValueError>(longest > 0, "[plot] expected at least one rate");
  return longest;
}

}  // namespace

Curves rates(const Schedule& schedule, int64_t steps) {
  check_steps(steps);
  Curves curves(1);
  for (int64_t step = 0; step < steps; ++step) curves[0].push_back(schedule(step));
  return curves;
}

std::string curves_as_text(const Curves& curves, int most, int height) {
  require<ValueError>(most > 0 && height > 1, "[plot] expected a larger width and height: got {} by {}", most, height);
  const Range range = range_of(curves);
  const size_t longest = longest_of(curves), width = std::min(size_t(most), longest);
  std::vector<std::vector<bool>> dots;
  dots.resize(size_t(height), std::vector<bool>(width));
  for (const auto& curve : curves)
    for (size_t x = 0; x < width && !curve.empty(); ++x)
      if (const double rate = curve[std::min(curve.size() - 1, x * longest / width)]; std::isfinite(rate))
        dots[size_t(height - 1 - int(std::nearbyint(range.part(rate) * (height - 1))))][x] = true;
  std::string text;
  for (int y = 0; y < height; ++y) {
    const double value = range.high - (range.high - range.low) * y / (height - 1);
    std::string row = printed("%8s", printed("%.3g", value).c_str()) + " ┤";
    const auto& line = dots[size_t(y)];
    const auto end = std::find(line.rbegin(), line.rend(), true).base();  // no blanks at the end
    for (auto dot = line.begin(); dot != end; ++dot) row += *dot ? "•" : " ";
    text += row + "\n";
  }
  text += std::string(8, ' ') + " └";
  for (size_t x = 0; x < width; ++x) text += "─";
  return text + "\n" + std::string(9, ' ') + "0" + printed("%*zu", int(width), longest - 1);
}

std::string curves_as_svg(const Curves& curves, int width, int height) {
  const Range range = range_of(curves);
  const double last = double(std::max<size_t>(2, longest_of(curves)) - 1);
  const int left = 70, bottom = height - 40, right = width - 20, top = 20;
  const auto x = [&](double step) { return left + (right - left) * step / last; };
  const auto y = [&](double value) { return bottom - (bottom - top) * range.part(value); };
  std::string svg = printed(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height);
  svg += printed("<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height);
  svg += printed("<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"black\"/>\n", left, top, bottom, right);
  for (int i = 0; i < kTicks; ++i) {
    const double value = range.low + (range.high - range.low) * i / (kTicks - 1), step = last * i / (kTicks - 1);
    svg += printed("<path d=\"M%d %.1fH%d\" stroke=\"#dddddd\"/>\n", left, y(value), right);
    svg += printed("<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", left - 6, y(value) + 4, value);
    svg += printed("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", x(step), bottom + 18, step);
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    svg += "<polyline points=\"";
    for (size_t step = 0; step < curves[i].size(); ++step)
      if (const double rate = curves[i][step]; std::isfinite(rate)) svg += printed(" %.1f,%.1f", x(double(step)), y(rate));
    svg += printed("\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", kColours[i % std::size(kColours)]);
  }
  return svg + printed("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">step</text></svg>\n", (left + right) / 2.0, height - 6);
}

void plot_curves(const Curves& curves, const std::filesystem::path& file) {
  if (file.empty()) {
    std::puts(curves_as_text(curves).c_str());
    return;
  }
  require<ValueError>(file.extension() == ".svg", "[plot] expected a file name that ends in .svg: got '{}'", file.string());
  errno = 0;
  std::ofstream stream(file);
  stream << curves_as_svg(curves);
  if (!stream.flush()) throw FileError("[plot] cannot write the file", file.string(), errno ? errno : EIO);
}

}  // namespace pyburn::optim
