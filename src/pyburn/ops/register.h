// Registration is explicit: a family is registered because it is listed here.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

void register_activation(OpTable&);
void register_binary(OpTable&);
void register_binary_math(OpTable&);
void register_conv(OpTable&);
void register_einsum(OpTable&);
void register_linalg(OpTable&);
void register_solvers(OpTable&);
void register_matrix_functions(OpTable&);
void register_factor_functions(OpTable&);
void register_copy(OpTable&);
void register_bits(OpTable&);
void register_grid_sample(OpTable&);
void register_rnn(OpTable&);
void register_rnn_steps(OpTable&);
void register_interpolate(OpTable&);
void register_attention(OpTable&);
void register_pool_functions(OpTable&);
void register_fractional_pool(OpTable&);
void register_pool(OpTable&);
void register_unfold(OpTable&);
void register_conv_functions(OpTable&);
void register_fill(OpTable&);
void register_window(OpTable&);
void register_fused(OpTable&);
void register_control_flow(OpTable&);
void register_index(OpTable&);
void register_logic(OpTable&);
void register_matmul(OpTable&);
void register_movement(OpTable&);
void register_normalisation(OpTable&);
void register_batch_norm(OpTable&);
void register_softmax(OpTable&);
void register_cross_entropy(OpTable&);
void register_ctc_loss(OpTable&);
void register_loss(OpTable&);
void register_margin_loss(OpTable&);
void register_optimise(OpTable&);
void register_pointwise(OpTable&);
void register_random(OpTable&);
void register_dropout(OpTable&);
void register_random_functions(OpTable&);
void register_reduce(OpTable&);
void register_transcendental(OpTable&);
void register_special(OpTable&);
void register_bessel(OpTable&);
void register_polynomial(OpTable&);
void register_axes(OpTable&);
void register_join(OpTable&);
void register_pad(OpTable&);
void register_rearrange(OpTable&);
void register_split(OpTable&);
void register_views(OpTable&);
void register_scatter(OpTable&);
void register_index_tensors(OpTable&);
void register_selection(OpTable&);
void register_overwrite(OpTable&);
void register_embedding(OpTable&);
void register_sample_planes(OpTable&);
void register_regions(OpTable&);
void register_segment(OpTable&);
void register_extremum(OpTable&);
void register_moments(OpTable&);
void register_calculus(OpTable&);
void register_vector_norm(OpTable&);
void register_cdist(OpTable&);
void register_scan(OpTable&);
void register_dft(OpTable&);
void register_stft(OpTable&);
void register_sort(OpTable&);
void register_search(OpTable&);
void register_histogram(OpTable&);
void register_unary(OpTable&);

inline void register_operations(OpTable& table) {
  for (auto family : {
           register_copy,
           register_fill,
           register_window,
           register_unary,
           register_transcendental,
           register_special,
           register_bessel,
           register_polynomial,
           register_activation,
           register_binary,
           register_binary_math,
           register_logic,
           register_pointwise,
           register_reduce,
           register_extremum,
           register_moments,
           register_calculus,
           register_vector_norm,
           register_cdist,
           register_scan,
           register_dft,
           register_stft,
           register_sort,
           register_search,
           register_histogram,
           register_movement,
           register_bits,
           register_matmul,
           register_einsum,
           register_linalg,
           register_solvers,
           register_matrix_functions,
           register_factor_functions,
           register_conv,
           register_conv_functions,
           register_unfold,
           register_pool,
           register_pool_functions,
           register_fractional_pool,
           register_attention,
           register_interpolate,
           register_rnn_steps,
           register_rnn,
           register_grid_sample,
           register_normalisation,
           register_batch_norm,
           register_softmax,
           register_cross_entropy,
           register_ctc_loss,
           register_loss,
           register_margin_loss,
           register_index,
           register_axes,
           register_join,
           register_pad,
           register_rearrange,
           register_split,
           register_views,
           register_scatter,
           register_index_tensors,
           register_selection,
           register_overwrite,
           register_embedding,
           register_sample_planes,
           register_regions,
           register_segment,
           register_random,
           register_dropout,
           register_random_functions,
           register_optimise,
           register_fused,
           register_control_flow,
       })
    family(table);
}

}  // namespace pyburn
