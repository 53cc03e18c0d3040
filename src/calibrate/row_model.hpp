// The model of a row: the one of the catalog that it names, or the one that its columns describe.
//
// A row that states `layers` describes a transformer: layers, hidden, heads, kv_heads, head_dim,
// ffn, vocab, seq, mlp, experts and so on. What columns cannot say (latent attention, patterns) is
// that of the catalog's model with the same name and sizes (known_models.hpp). A blank `seq` is
// that of the catalog's model too. Any other row must name a model of the catalog; its `seq` and
// `image` change it.
//
//   RowModels models;
//   if (auto model = models.of(row, defaults)) ...      // null: not a model that can be
#pragma once

#include <map>
#include <memory>
#include <string>

#include "calibrate/run_row.hpp"
#include "model/model.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

class RowModels {
 public:
  // The catalog's name of the row's model, if the row leaves its sizes to it; else null.
  static const std::string* named(const Row& row);
  // The sequence that a row leaves to the catalog; 0 if it names no model with these sizes.
  static int usual_seq(Row& row);

  // Null if there can be no such model. Rows with the same cells share theirs.
  std::shared_ptr<const model::Model> of(Row& row, const cost::RunDefaults& defaults);

 private:
  std::map<std::string, std::shared_ptr<const model::Model>> models_;
};

}  // namespace nereus::calibrate
