#include "pyburn/graph/drawing.h"

#include <algorithm>
#include <numeric>

#include "pyburn/support/format.h"

namespace pyburn {
namespace {

struct Box {
  std::string title, detail;
  const char* colour;
  std::vector<std::pair<int32_t, ValueId>> from;  // boxes whose results it reads
  int32_t layer = 0;
  double x = 0, y = 0, width = 0;
};

const char* colour_of(const OpInfo& op) {
  switch (op.kind) {
    case Kind::contract:
      return "#cfe3ff";
    case Kind::elementwise:
      return "#d9f2d9";
    case Kind::reduce:
      return "#ffe8c7";
    case Kind::view:
      return "#eeeeee";
    case Kind::update:
      return "#ffd6d6";
    default:
      return "#e9dcf7";
  }
}

std::string text_of(const Meta& m) { return to_text(m.dtype) + " " + to_text(m.shape); }

// Inputs, operations and outputs; constants are left out, because every weight would be a box.
std::vector<Box> boxes_of(const Graph& g) {
  std::vector<Box> boxes;
  std::vector<int32_t> maker(g.values.size(), -1);
  auto name_of = [](const std::vector<std::string>& names, size_t i, const char* kind) {
    return i < names.size() && !names[i].empty() ? names[i] : kind + std::to_string(i);
  };
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    maker[size_t(g.inputs[i])] = int32_t(boxes.size());
    boxes.push_back({name_of(g.input_names, i, "input"), text_of(g.values[size_t(g.inputs[i])]), "#fff7b3", {}});
  }
  for (const GraphNode& n : g.nodes) {
    Box box{std::string(n.op.info().name()), n.out.empty() ? "" : text_of(g.values[size_t(n.out[0])]), colour_of(n.op.info()), {}};
    for (ValueId v : n.in)
      if (v >= 0 && maker[size_t(v)] >= 0) box.from.emplace_back(maker[size_t(v)], v);
    for (ValueId v : n.out) {
      if (n.writes && maker[size_t(v)] >= 0) box.from.emplace_back(maker[size_t(v)], v);
      maker[size_t(v)] = int32_t(boxes.size());
    }
    boxes.push_back(std::move(box));
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    Box box{name_of(g.output_names, i, "output"), text_of(g.values[size_t(g.outputs[i])]), "#fff7b3", {}};
    if (const int32_t from = maker[size_t(g.outputs[i])]; from >= 0) box.from.emplace_back(from, g.outputs[i]);
    boxes.push_back(std::move(box));
  }
  return boxes;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else if (c == '"') result += "&quot;";
    else result += c;
  }
  return result;
}

constexpr double kHeight = 36, kLayer = 64, kGap = 16, kCharacter = 7;

// Layers from top to bottom; within a layer, boxes are placed near the mean of their inputs.
std::pair<double, double> place(std::vector<Box>& boxes) {
  std::vector<std::vector<int32_t>> layers;
  for (size_t i = 0; i < boxes.size(); ++i) {
    Box& b = boxes[i];
    for (const auto& [from, v] : b.from) b.layer = std::max(b.layer, boxes[size_t(from)].layer + 1);
    b.width = kCharacter * double(std::max(b.title.size(), b.detail.size())) + 16;
    if (layers.size() <= size_t(b.layer)) layers.resize(size_t(b.layer) + 1);
    layers[size_t(b.layer)].push_back(int32_t(i));
  }
  double widest = 0;
  for (std::vector<int32_t>& layer : layers) {
    for (int32_t i : layer) {
      Box& b = boxes[size_t(i)];
      double sum = 0;
      for (const auto& [from, v] : b.from) sum += boxes[size_t(from)].x;
      b.x = b.from.empty() ? 0 : sum / double(b.from.size());
    }
    std::stable_sort(layer.begin(), layer.end(), [&](int32_t a, int32_t b) { return boxes[size_t(a)].x < boxes[size_t(b)].x; });
    double least = -1e30, shift = 0;
    for (int32_t i : layer) {
      Box& b = boxes[size_t(i)];
      const double wanted = b.x;
      b.x = std::max(wanted, least + b.width / 2);
      least = b.x + b.width / 2 + kGap;
      shift += (b.x - wanted) / double(layer.size());
    }
    for (int32_t i : layer) boxes[size_t(i)].x -= shift;  // as much to the left as to the right of where they want to be
  }
  double left = 1e30;
  for (const Box& b : boxes) left = std::min(left, b.x - b.width / 2);
  for (Box& b : boxes) {
    b.x += kGap - left;
    b.y = kGap + kLayer * b.layer;
    widest = std::max(widest, b.x + b.width / 2);
  }
  return {widest + kGap, kLayer * double(layers.size()) + kGap};
}

std::string number(double v) { return to_text(int64_t(v)); }

struct Picture {
  std::string text;
  double width = 0, height = 0;
};

// The graphs inside a node, each with the name that it has there.
std::vector<std::pair<std::string, Ref<Graph>>> inside(const Graph& g) {
  std::vector<std::pair<std::string, Ref<Graph>>> found;
  for (const GraphNode& n : g.nodes) {
    int64_t number = 0;
    for (const Ref<Graph>& sub : sub_graphs(n.op.ref()))
      found.emplace_back(format("{} of %{}, graph {}", n.op.info().name(), n.out.empty() ? -1 : n.out[0], number++), sub);
  }
  return found;
}

Picture drawn(const Graph& g) {
  std::vector<Box> boxes = boxes_of(g);
  const auto [width, height] = place(boxes);
  Picture picture{"", width, height};
  for (const Box& b : boxes)
    for (const auto& [from, v] : b.from) {
      const Box& a = boxes[size_t(from)];
      const double y0 = a.y + kHeight;
      const bool skips = b.layer > a.layer + 1;  // goes around the boxes between
      const double side = std::max(a.x + a.width / 2, b.x + b.width / 2) + kGap, x0 = skips ? side : a.x, x1 = skips ? side : b.x;
      const double bend = skips ? kLayer : (b.y - y0) / 2;
      picture.text += format("<path d=\"M{} {} C{} {} {} {} {} {}\" fill=\"none\" stroke=\"#8a8a8a\"/>\n", number(a.x), number(y0),
          number(x0), number(y0 + bend), number(x1), number(b.y - bend), number(b.x), number(b.y));
    }
  for (const Box& b : boxes)
    picture.text += format(
        "<g><title>{} {}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{}\" stroke=\"#555555\"/>"
        "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text><text x=\"{}\" y=\"{}\" fill=\"#444444\">{}</text></g>\n",
        escaped(b.title), escaped(b.detail), number(b.x - b.width / 2), number(b.y), number(b.width), number(kHeight), b.colour,
        number(b.x), number(b.y + 15), escaped(b.title), number(b.x), number(b.y + 29), escaped(b.detail));
  // Graphs inside stand below, in frames.
  for (const auto& [name, sub] : inside(g)) {
    const Picture part = drawn(*sub);
    const double frame = std::max(part.width, kCharacter * double(name.size()) + kGap);
    picture.text += format(
        "<g transform=\"translate({} {})\"><rect width=\"{}\" height=\"{}\" rx=\"6\" fill=\"none\" stroke=\"#8a8a8a\" "
        "stroke-dasharray=\"4\"/><text x=\"{}\" y=\"14\" font-style=\"italic\">{}</text><g transform=\"translate(0 {})\">\n{}</g></g>\n",
        number(kGap), number(picture.height), number(frame), number(part.height + kGap), number(frame / 2), escaped(name), number(kGap),
        part.text);
    picture.width = std::max(picture.width, frame + 2 * kGap);
    picture.height += part.height + 2 * kGap;
  }
  return picture;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) result += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "\"";
}

// Nodes are called <prefix><number>; graphs inside are clusters, named after their node.
std::string described(const Graph& g, const std::string& prefix) {
  const std::vector<Box> boxes = boxes_of(g);
  std::string text;
  for (size_t i = 0; i < boxes.size(); ++i)
    text += format("  {}{} [label={}, tooltip={}, fillcolor={}];\n", prefix, int64_t(i), quoted(boxes[i].title), quoted(boxes[i].detail),
        quoted(boxes[i].colour));
  for (size_t i = 0; i < boxes.size(); ++i)
    for (const auto& [from, v] : boxes[i].from)
      text += format("  {}{} -> {}{} [label={}];\n", prefix, from, prefix, int64_t(i), quoted(to_text(g.values[size_t(v)].shape)));
  int64_t number = 0;
  for (const auto& [name, sub] : inside(g)) {
    const std::string inner = prefix + std::to_string(number++) + "_";
    text += format("  subgraph cluster_{} { label={}; style=dashed;\n{}  }\n", inner, quoted(name), described(*sub, inner));
  }
  return text;
}

}  // namespace

std::string to_graphviz(const Graph& g) {
  return "digraph graph_of_operations {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n" + described(g, "n") +
         "}\n";
}

std::string to_svg(const Graph& g) {
  const Picture picture = drawn(g);
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
             "font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             number(picture.width), number(picture.height), number(picture.width), number(picture.height)) +
         picture.text + "</svg>\n";
}

}  // namespace pyburn
