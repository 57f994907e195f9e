// How a message of the file becomes a TensorDef; for the reader of models.
#pragma once
#include <protozero/pbf_message.hpp>

#include "pyburn/onnx/model_proto.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {

// What a file may ask for beside its own bytes.
class ReadContext {
 public:
  ReadContext(io::SharedBytes file, std::filesystem::path folder) : file_(std::move(file)), folder_(std::move(folder)) {}

  // The part of the file that a view of it shows.
  io::SharedBytes part(protozero::data_view view) const;
  // A part of another file in the folder of the model. FormatError if its path leaves the folder, or the part the file.
  io::SharedBytes external(const std::string& location, uint64_t offset, std::optional<uint64_t> length);

  // Counts what is made of messages that take hardly any bytes: FormatError when there are too many.
  void count(int64_t things = 1) {
    things_ += things;
    require<FormatError>(things_ <= kMostThings, "[onnx] more than {} nodes, attributes and values", kMostThings);
  }
  // While it lives: a message inside another. FormatError when they are nested too deep.
  class Nested {
   public:
    explicit Nested(ReadContext& context) : context_(context) {
      require<FormatError>(context_.depth_ < kDeepest, "[onnx] messages are nested more than {} deep", kDeepest);
      ++context_.depth_;
    }
    ~Nested() { --context_.depth_; }

   private:
    ReadContext& context_;
  };

 private:
  static constexpr int64_t kMostThings = 20'000'000;
  static constexpr int kDeepest = 64;
  io::SharedBytes file_;
  std::filesystem::path folder_;  // empty: external data is refused
  std::map<std::string, io::SharedBytes> externals_;
  int64_t things_ = 0;
  int depth_ = 0;
};

TensorDef read_tensor(protozero::data_view message, ReadContext& context);
// The dense tensor that a sparse one stands for.
TensorDef read_sparse_tensor(protozero::data_view message, ReadContext& context);

}  // namespace pyburn::onnx
