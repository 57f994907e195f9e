// Decoding of image files, which the bindings bring: Python has libraries for it.
#pragma once
#include <span>
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn::onnx {

// uint8 (height, width, channels) on the host, from the bytes of a file; `pixels`: "RGB", "BGR" or "Grayscale". Null: none.
extern TensorHandle (*decode_image)(std::span<const std::byte> file, const std::string& pixels);

}  // namespace pyburn::onnx
