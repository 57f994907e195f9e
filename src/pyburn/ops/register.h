// Registration is explicit: a family is in the table because it is named here.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

void register_binary(OpTable&);
void register_conv(OpTable&);
void register_einsum(OpTable&);
void register_copy(OpTable&);
void register_grid_sample(OpTable&);
void register_rnn(OpTable&);
void register_rnn_steps(OpTable&);
void register_interpolate(OpTable&);
void register_attention(OpTable&);
void register_pooling(OpTable&);
void register_pool(OpTable&);
void register_unfold(OpTable&);
void register_convolutions(OpTable&);
void register_fill(OpTable&);
void register_fused(OpTable&);
void register_index(OpTable&);
void register_matmul(OpTable&);
void register_movement(OpTable&);
void register_norm(OpTable&);
void register_optimise(OpTable&);
void register_random(OpTable&);
void register_reduce(OpTable&);
void register_unary(OpTable&);

inline void register_operations(OpTable& table) {
  for (auto family : {
           register_copy,
           register_fill,
           register_unary,
           register_binary,
           register_reduce,
           register_movement,
           register_matmul,
           register_einsum,
           register_conv,
           register_convolutions,
           register_unfold,
           register_pool,
           register_pooling,
           register_attention,
           register_interpolate,
           register_rnn_steps,
           register_rnn,
           register_grid_sample,
           register_norm,
           register_index,
           register_random,
           register_optimise,
           register_fused,
       })
    family(table);
}

}  // namespace pyburn
