// Bilinear and the embeddings as classes of pyburn.nn.
#include "layer_class.h"
#include "pyburn/nn/embedding.h"
#include "pyburn/nn/linear.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {

void bind_layers_embedding(nb::module_& m) {
  auto bilinear = bind_layer<nn::Bilinear>(
      m, "y = x1 @ weight @ x2 + bias, for each row.\n\n>>> pyburn.nn.Bilinear(2, 3, 4)(pyburn.ones(5, 2), pyburn.ones(5, 3)).shape");
  bind_forward(bilinear, &nn::Bilinear::forward, "input1"_a, "input2"_a);
  bind_layer<nn::Embedding>(m, "Rows of a table, by number.\n\n>>> pyburn.nn.Embedding(10, 3)(pyburn.tensor([[1, 2], [4, 5]])).shape");
  auto bag = bind_layer<nn::EmbeddingBag>(m,
      "Sums, means or maxima of the rows of a table that each bag names.\n\n>>> pyburn.nn.EmbeddingBag(10, 3)(pyburn.tensor([[1, 2], [4, "
      "5]])).shape");
  bind_forward(bag, &nn::EmbeddingBag::forward, "input"_a, "offsets"_a.none() = nb::none(), "per_sample_weights"_a.none() = nb::none());
}

}  // namespace pyburn::python
