// Squared distances of many pairs of long rows.
//
// Pair by pair, a long row would come from memory again for each of its pairs, which takes longer
// than the arithmetic. Here all pairs of a tile advance together: a stretch of coordinates of the
// tile's points is laid out side by side in the cache, each pair adds its squares to sums of its
// own, and the next stretch follows. Each pair's additions are those of sq_distance, in the same
// order.
#include "neighbors/kernels_pairs.h"

#include "neighbors/buffers.h"
#include "neighbors/row_distance.h"

namespace closeknit::CK_ISA {
namespace {

constexpr std::int64_t STRETCH = 16 * N_SUMS;  // two kibibytes of each point
constexpr std::int64_t FEW_USES = 2;           // pairs per point of a tile for which no layout pays

struct Pair {
  std::int32_t left, right;  // places in the tile's layout
  std::int64_t at;           // where its distance belongs
};

// The first of the ascending numbers from `begin` on that is at least `least`.
std::int64_t first_at_least(const std::int32_t* numbers, std::int64_t begin, std::int64_t end,
                            std::int64_t least) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (numbers[middle] < least)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

template <class T>
class PairTile {
 public:
  PairTile(const DenseRows<T>& rows, double* out, Checkpoint checkpoint)
      : rows_(rows), out_(out), checkpoint_(checkpoint) {}

  void collect(const std::int64_t* starts, const std::int32_t* columns, std::int64_t row_begin,
               std::int64_t row_end, std::int64_t first_column) {
    Buffer<std::int32_t> place_of(PAIR_TILE);
    for (std::int64_t c = 0; c < PAIR_TILE; ++c) place_of[c] = -1;
    for (std::int64_t i = row_begin; i < row_end; ++i) {
      const std::int64_t stop = starts[i + 1];
      const std::int64_t begin = first_at_least(columns, starts[i], stop, first_column);
      const std::int64_t end = first_at_least(columns, begin, stop, first_column + PAIR_TILE);
      if (begin == end) continue;
      const std::int32_t left = place(i);
      for (std::int64_t p = begin; p < end; ++p) {
        std::int32_t& right = place_of[columns[p] - first_column];
        if (right < 0) right = place(columns[p]);
        pairs_.append({left, right, p});
      }
    }
  }

  void measure() {
    if (pairs_.size() < FEW_USES * points_.size())
      one_by_one();
    else
      together();
  }

 private:
  std::int32_t place(std::int64_t point) {
    points_.append(point);
    return static_cast<std::int32_t>(points_.size() - 1);
  }

  void one_by_one() {
    for (std::int64_t p = 0; p < pairs_.size(); ++p) {
      checkpoint_.check(checkpoint_.context);
      const Pair& pair = pairs_[p];
      out_[pair.at] = sq_distance(rows_, points_[pair.left], rows_, points_[pair.right], INFINITE);
    }
  }

  void together() {
    const std::int64_t n = rows_.n_features, n_whole = n - n % N_SUMS;
    Buffer<double> layout(points_.size() * STRETCH);
    Buffer<double> sums(pairs_.size() * N_SUMS);
    for (std::int64_t s = 0; s < pairs_.size() * N_SUMS; ++s) sums[s] = 0.0;
    for (std::int64_t k = 0; k < n_whole; k += STRETCH) {
      checkpoint_.check(checkpoint_.context);
      const std::int64_t length = smaller(STRETCH, n_whole - k);
      for (std::int64_t p = 0; p < points_.size(); ++p)
        widen(rows_.row(points_[p]) + k, length, layout.data() + p * STRETCH);
      for (std::int64_t p = 0; p < pairs_.size(); ++p)
        add(layout.data() + pairs_[p].left * STRETCH, layout.data() + pairs_[p].right * STRETCH,
            length, sums.data() + p * N_SUMS);
    }
    for (std::int64_t p = 0; p < pairs_.size(); ++p) finish(pairs_[p], sums.data() + p * N_SUMS);
  }

  static void widen(const T* values, std::int64_t length, double* out) {
    for (std::int64_t k = 0; k < length; k += WIDE) store(out + k, load_doubles(values + k));
  }

  static void add(const double* x, const double* y, std::int64_t length, double* to) {
    Doubles sums[4];
    for (int v = 0; v < 4; ++v) sums[v] = load(to + WIDE * v);
    add_sq_gaps(x, y, length, sums);
    for (int v = 0; v < 4; ++v) store(to + WIDE * v, sums[v]);
  }

  void finish(const Pair& pair, const double* from) {
    Doubles sums[4];
    for (int v = 0; v < 4; ++v) sums[v] = load(from + WIDE * v);
    const T* x = rows_.row(points_[pair.left]);
    const T* y = rows_.row(points_[pair.right]);
    out_[pair.at] = total_with_rest(sums, x, y, rows_.n_features);
  }

  const DenseRows<T>& rows_;
  double* out_;
  const Checkpoint checkpoint_;
  List<std::int64_t> points_;  // by place
  List<Pair> pairs_;
};

}  // namespace

void pair_distances_of_tile(const Rows& rows, const std::int64_t* starts,
                            const std::int32_t* columns, std::int64_t row_tile,
                            std::int64_t column_tile, double* out, Checkpoint checkpoint) {
  const auto measure = [&](const auto& values) {
    PairTile tile(values, out, checkpoint);
    const std::int64_t begin = row_tile * PAIR_TILE, end = smaller(rows.n_rows, begin + PAIR_TILE);
    tile.collect(starts, columns, begin, end, column_tile * PAIR_TILE);
    tile.measure();
  };
  if (rows.is_double) return measure(DenseRows<double>(rows));
  measure(DenseRows<float>(rows));
}

}  // namespace closeknit::CK_ISA
