// Matrix products.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// beta * start + alpha * product.
struct Blend {
  Scalar beta = 1, alpha = 1;
  PB_FIELDS(beta, alpha)

  bool is_sum() const { return beta.to_double() == 1 && alpha.to_double() == 1; }
  static Blend from(const TensorHandle&, const TensorHandle&, const TensorHandle&, const Scalar& beta, const Scalar& alpha) {
    return {beta, alpha};
  }
};

namespace op {
extern OpInfo bmm;       // (B, M, K) x (B, K, N): all products are reduced to it
extern OpInfo bmm_plus;  // as above, added to an input
extern OpInfo linear;    // rows times a transposed matrix, plus a bias: a linear layer
}  // namespace op

}  // namespace pyburn
