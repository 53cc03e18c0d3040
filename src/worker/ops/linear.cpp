#include "worker/ops/linear.hpp"

#include <algorithm>
#include <limits>

#include "worker/device/torch_compat.hpp"
#include "worker/ops/gpu_kernels.hpp"

namespace nereus::worker {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// What a product needs besides its inputs. The pass outlives every backward pass of its graph,
// because the executor keeps both together.
struct LinearCall : torch::CustomClassHolder {
  at::Tensor bias, weight_gradient, bias_gradient;
  WeightLayout layout = WeightLayout::kInOut;
  PassContext* pass = nullptr;
};
using LinearCallPtr = c10::intrusive_ptr<LinearCall>;

void keep(AutogradContext* context, const LinearCallPtr& call) {
  context->saved_data["call"] = c10::IValue::make_capsule(call);
}
LinearCallPtr call_of(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<LinearCall>(context->saved_data["call"].toCapsule());
}

at::Tensor as_rows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

void now_or_later(PassContext& pass, const std::function<void()>& weight_half) {
  if (pass.defer_weights)
    pass.deferred.push_back(weight_half);
  else
    weight_half();
}

struct LinearFunction : Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const LinearCallPtr& call) {
    context->save_for_backward({x, weight});
    keep(context, call);
    const at::Tensor rows = as_rows(x);
    const at::Tensor matrix = call->layout == WeightLayout::kInOut ? weight : weight.t();
    const at::Tensor y =
        call->bias.defined() ? at::addmm(call->bias, rows, matrix) : at::mm(rows, matrix);
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.back() = matrix.size(1);
    return y.view(shape);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const LinearCallPtr call = call_of(context);
    const at::Tensor x = as_rows(saved[0]), weight = saved[1];
    const at::Tensor gy = as_rows(gradients[0]);
    const bool in_out = call->layout == WeightLayout::kInOut;
    const at::Tensor gx = at::mm(gy, in_out ? weight.t() : weight).view(saved[0].sizes());
    const auto weight_half = [=] {
      const at::NoGradGuard no_grad;
      if (in_out)
        add_product(call->weight_gradient, x.t(), gy);
      else
        add_product(call->weight_gradient, gy.t(), x);
      if (call->bias_gradient.defined() && !gpu_add_column_sums(call->bias_gradient, gy))
        call->bias_gradient.add_(gy.sum(0));
    };
    now_or_later(*call->pass, weight_half);
    return {gx, {}, {}};
  }
};

// Tensor cores want rows that start at multiples of 16 bytes, and whole tiles.
constexpr std::int64_t kTile = 64;

// Calls do_part(begin, count) for `size` rows or columns of a product: once for all, or for parts
// within the pass's limit of operations.
template <class Do>
void in_parts(const PassContext& pass, std::int64_t size, double operations, const Do& do_part) {
  std::int64_t most = size;
  if (pass.most_operations > 0 && operations > 0) {
    const auto tiles = static_cast<std::int64_t>(pass.most_operations / operations) / kTile;
    most = std::max<std::int64_t>(1, tiles) * kTile;
  }
  for (std::int64_t begin = 0; begin < size; begin += most)
    do_part(begin, std::min(most, size - begin));
}

// For a vocabulary that is not a whole number of tiles. A padded copy would be as large as the
// table, so most of the table is used in place, and the remaining rows form a separate tile.
struct Tiles {
  at::Tensor most, rest;  // [rows, hidden]; rest: undefined, or one tile, the last rows of it zero

  explicit Tiles(const at::Tensor& table) {
    const std::int64_t tiled = table.size(0) / kTile * kTile, left = table.size(0) - tiled;
    most = table.narrow(0, 0, tiled);
    if (left > 0) rest = at::constant_pad_nd(table.narrow(0, tiled, left), {0, 0, 0, kTile - left});
  }
  std::int64_t rows() const { return most.size(0) + (rest.defined() ? kTile : 0); }
};

struct TiledLogitsFunction : Function<TiledLogitsFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& table,
                            const LinearCallPtr& call) {
    context->save_for_backward({x, table});
    keep(context, call);
    const at::Tensor rows = as_rows(x);
    const Tiles tiles(table);
    const std::int64_t tiled = tiles.most.size(0);
    at::Tensor y = at::empty({rows.size(0), tiles.rows()}, x.options());
    by_rows(*call->pass, rows.size(0), tiles.most, [&](std::int64_t begin, std::int64_t count) {
      at::Tensor part = y.narrow(0, begin, count).narrow(1, 0, tiled);
      at::mm_out(part, rows.narrow(0, begin, count), tiles.most.t());
    });
    if (!tiles.rest.defined()) return y;
    at::Tensor part = y.narrow(1, tiled, kTile);
    at::mm_out(part, rows, tiles.rest.t());
    y.narrow(1, table.size(0), y.size(1) - table.size(0))
        .fill_(-std::numeric_limits<double>::infinity());
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const LinearCallPtr call = call_of(context);
    const at::Tensor x = as_rows(saved[0]), gy = gradients[0];
    now_or_later(*call->pass, [=] { add_to_table(*call, gy, x); });
    return {gradient_of_input(*call->pass, gy, Tiles(saved[1])).view(saved[0].sizes()), {}, {}};
  }

 private:
  template <class Do>
  static void by_rows(const PassContext& pass, std::int64_t rows, const at::Tensor& by,
                      const Do& do_part) {
    in_parts(pass, rows, 2.0 * static_cast<double>(by.numel()), do_part);
  }

  // The few first: they are rounded once more.
  static at::Tensor gradient_of_input(const PassContext& pass, const at::Tensor& gy,
                                      const Tiles& tiles) {
    const std::int64_t tiled = tiles.most.size(0);
    const at::Tensor gx = tiles.rest.defined()
                              ? at::mm(gy.narrow(1, tiled, kTile), tiles.rest)
                              : at::zeros({gy.size(0), tiles.most.size(1)}, gy.options());
    by_rows(pass, gy.size(0), tiles.most, [&](std::int64_t begin, std::int64_t count) {
      gx.narrow(0, begin, count).addmm_(gy.narrow(0, begin, count).narrow(1, 0, tiled), tiles.most);
    });
    return gx;
  }

  static void add_to_table(const LinearCall& call, const at::Tensor& gy, const at::Tensor& x) {
    const at::NoGradGuard no_grad;
    const at::Tensor& gradient = call.weight_gradient;
    const std::int64_t rows = gradient.size(0), tiled = rows / kTile * kTile;
    in_parts(*call.pass, tiled, 2.0 * static_cast<double>(x.numel()),
             [&](std::int64_t begin, std::int64_t count) {
               add_product(gradient.narrow(0, begin, count), gy.narrow(1, begin, count).t(), x);
             });
    if (tiled == rows) return;
    const at::Tensor rest = at::zeros({kTile, x.size(1)}, gradient.options());
    add_product(rest, gy.narrow(1, tiled, kTile).t(), x);
    gradient.narrow(0, tiled, rows - tiled).add_(rest.narrow(0, 0, rows - tiled));
  }
};

struct EmbedFunction : Function<EmbedFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& ids,
                            const at::Tensor& table, const at::Tensor& gradient,
                            std::int64_t first_row) {
    const std::int64_t num_rows = table.size(0);
    at::Tensor local = ids - first_row;
    const at::Tensor outside = (local < 0).logical_or(local >= num_rows);
    local.masked_fill_(outside, 0);
    at::Tensor y = at::embedding(table, local);
    y.masked_fill_(outside.unsqueeze(-1), 0);
    context->save_for_backward({local, outside});
    context->saved_data["gradient"] = gradient;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    at::Tensor gradient = context->saved_data["gradient"].toTensor();
    const at::Tensor gy = gradients[0].masked_fill(saved[1].unsqueeze(-1), 0);
    const at::Tensor ids = saved[0].reshape({-1});
    if (gpu_add_rows(gradient, ids, as_rows(gy))) return {{}, {}, {}, {}};
    // On a GPU index_add_ sums in whatever order its threads come.
    if (gy.is_cuda())
      gradient.add_(at::embedding_dense_backward(gy, saved[0], gradient.size(0), -1, false));
    else
      gradient.index_add_(0, ids, as_rows(gy).to(gradient.scalar_type()));
    return {{}, {}, {}, {}};
  }
};

at::Tensor place(const std::vector<at::Tensor>& list, int at) {
  return at < 0 ? at::Tensor() : list[at];
}

LinearCallPtr make_call(const Weights& weights, int weight, int bias, PassContext& pass) {
  LinearCallPtr call = c10::make_intrusive<LinearCall>();
  call->bias = place(weights.values, bias);
  call->weight_gradient = place(weights.gradients, weight);
  call->bias_gradient = place(weights.gradients, bias);
  call->pass = &pass;
  return call;
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const Weights& weights, int weight, int bias,
                  WeightLayout layout, PassContext& pass) {
  const LinearCallPtr call = make_call(weights, weight, bias, pass);
  call->layout = layout;
  return LinearFunction::apply(x, place(weights.values, weight), call);
}

at::Tensor logits(const at::Tensor& x, const Weights& weights, int table, int bias,
                  PassContext& pass) {
  const bool tiles = x.is_cuda() && place(weights.values, table).size(0) % kTile != 0;
  if (bias >= 0 || (!tiles && pass.most_operations == 0))
    return as_rows(linear(x, weights, table, bias, WeightLayout::kOutIn, pass));
  return TiledLogitsFunction::apply(x, place(weights.values, table),
                                    make_call(weights, table, -1, pass));
}

at::Tensor embed(const at::Tensor& ids, const Weights& weights, int table, std::int64_t first_row,
                 PassContext&) {
  return EmbedFunction::apply(ids, place(weights.values, table), place(weights.gradients, table),
                              first_row);
}

}  // namespace nereus::worker
