// Bilinear and the embeddings as classes of pyburn.nn.
#include "layer_class.h"
#include "pyburn/nn/embedding.h"
#include "pyburn/nn/linear.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {

void bind_layers_embedding(nb::module_& m) {
  auto bilinear = bind_layer<nn::Bilinear>(m,
      "Applies a bilinear transformation: y = x1.T @ weight @ x2 + bias.\n\n>>> pyburn.nn.Bilinear(2, 3, 4)(pyburn.ones(5, 2), "
      "pyburn.ones(5, 3)).shape\npyburn.Size([5, 4])");
  bind_forward(bilinear, &nn::Bilinear::forward, "input1"_a, "input2"_a);
  bind_layer<nn::Embedding>(m,
      "Looks up embedding vectors by index: input (*) of int64 token ids, output (*, embedding_dim).\n\n>>> pyburn.nn.Embedding(10, "
      "3)(pyburn.tensor([[1, 2], [4, 5]])).shape\npyburn.Size([2, 2, 3])");
  auto bag = bind_layer<nn::EmbeddingBag>(m,
      "Computes sums, means or maxima of bags of embedding vectors.\n\n>>> pyburn.nn.EmbeddingBag(10, 3)(pyburn.tensor([[1, 2], [4, "
      "5]])).shape\npyburn.Size([2, 3])");
  bind_forward(bag, &nn::EmbeddingBag::forward, "input"_a, "offsets"_a.none() = nb::none(), "per_sample_weights"_a.none() = nb::none());
}

}  // namespace pyburn::python
