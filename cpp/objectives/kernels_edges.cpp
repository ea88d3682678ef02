// Sums over edges, compiled once per instruction set.
//
// The Epanechnikov kernel repels only; with it the attraction is quadratic, as with the Gaussian.
#include "objectives/kernels_edges.h"

#include <cfloat>
#include <cmath>

#include "common/elementary.h"
#include "common/vectors.h"

namespace closeknit::CK_ISA {

// With more points than the cache holds, ends of edges are asked for so many edges before theirs.
constexpr int AHEAD = 64;
constexpr std::int64_t NEAR_POINTS = 1 << 17;

// Coordinates of the points at the ends of as many edges as a vector has lanes.
template <class T, int D, class I>
CK_INLINE void gather(const T* points, const I* ends, typename LanesOf<T>::type (&y)[D]) {
  constexpr int W = LanesOf<T>::lanes;
  T columns[D][W];
  for (int l = 0; l < W; ++l) {
    const T* p = points + static_cast<std::int64_t>(ends[l]) * D;
    for (int c = 0; c < D; ++c) columns[c][l] = p[c];
  }
  for (int c = 0; c < D; ++c) y[c] = load(columns[c]);
}

#if defined(__AVX2__)
// Pairs of floats are moved as one: eight loads instead of sixteen.
CK_INLINE void gather(const float* points, const std::int32_t* ends, Floats (&y)[2]) {
  const auto pair = [&](int l) {
    return reinterpret_cast<const __m64*>(points + 2 * static_cast<std::int64_t>(ends[l]));
  };
  const auto four = [&](int a, int b) {
    return _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), pair(a)), pair(b));
  };
  const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(four(0, 1)), four(4, 5), 1);
  const __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(four(2, 3)), four(6, 7), 1);
  y[0] = (Floats)_mm256_shuffle_ps(low, high, 0x88);
  y[1] = (Floats)_mm256_shuffle_ps(low, high, 0xDD);
}
#endif

template <class T, class I, int D, bool STUDENT, bool FORCE>
static double sum_rows(const Edges<T, I>& e, const Kernel& kernel, double* force,
                       std::int64_t begin, std::int64_t end) {
  using V = typename LanesOf<T>::type;
  constexpr int W = LanesOf<T>::lanes;
  const V one = all<V>(T(1)), inverse = all<V>(T(1.0 / kernel.scale));
  const double slope = kernel.power / kernel.scale;
  double total = 0.0;
  const Csr<I, T>& graph = e.graph;
  const auto last = static_cast<std::int64_t>(graph.indptr[end]);
  const bool far = graph.n_rows > NEAR_POINTS;
  for (std::int64_t n = begin; n < end; ++n) {
    V x[D], f[D];
    for (int c = 0; c < D; ++c) {
      x[c] = all<V>(e.from[n * D + c]);
      f[c] = all<V>(T(0));
    }
    V value = all<V>(T(0));
    const auto stop = static_cast<std::int64_t>(graph.indptr[n + 1]);
    for (std::int64_t j = graph.indptr[n]; j < stop; j += W) {
      if (far && j + AHEAD + W < last)
        for (int l = 0; l < W; ++l)
          CK_PREFETCH(e.points + static_cast<std::int64_t>(graph.indices[j + AHEAD + l]) * D);
      V w, y[D];
      if (j + W <= stop) {
        w = load<V>(graph.values + j);
        gather(e.points, graph.indices + j, y);
      } else {  // the lanes beyond the row's end lead from the point to itself, with no weight
        I ends[W];
        for (int l = 0; l < W; ++l) {
          const bool inside = j + l < stop;
          ends[l] = graph.indices[inside ? j + l : j];
          w[l] = inside ? graph.values[j + l] : T(0);
        }
        gather(e.points, ends, y);
      }
      V t = all<V>(T(0));
      for (int c = 0; c < D; ++c) {
        y[c] = x[c] - y[c];
        t = t + y[c] * y[c];
      }
      if (STUDENT) {
        const V one_more = one + t * inverse;
        value = value + w * log2(one_more);
        if (FORCE) w = w / one_more;
      } else {
        value = value + w * t;
      }
      if (FORCE)
        for (int c = 0; c < D; ++c) f[c] = f[c] + w * y[c];
    }
    total += sum(value);
    if (FORCE)
      for (int c = 0; c < D; ++c) force[n * D + c] = slope * sum(f[c]);
  }
  return total * (STUDENT ? kernel.power * LN2 : slope);
}

// Any number of components, one edge at a time.
template <class T, class I>
static double sum_rows_plain(const Edges<T, I>& e, const Kernel& kernel, double* force,
                             std::int64_t begin, std::int64_t end) {
  const int d = e.d;
  const bool student = kernel.family == Family::STUDENT;
  const double slope = kernel.power / kernel.scale;
  double total = 0.0;
  for (std::int64_t n = begin; n < end; ++n) {
    const T* x = e.from + n * d;
    double* f = force ? force + n * d : nullptr;
    if (f)
      for (int c = 0; c < d; ++c) f[c] = 0.0;
    for (I j = e.graph.indptr[n]; j < e.graph.indptr[n + 1]; ++j) {
      const T* y = e.points + static_cast<std::int64_t>(e.graph.indices[j]) * d;
      double t = 0.0;
      for (int c = 0; c < d; ++c) t += double(x[c] - y[c]) * double(x[c] - y[c]);
      total +=
          e.graph.values[j] * (student ? kernel.power * std::log1p(t / kernel.scale) : slope * t);
      if (!f) continue;
      const double w = slope * e.graph.values[j] / (student ? 1.0 + t / kernel.scale : 1.0);
      for (int c = 0; c < d; ++c) f[c] += w * (x[c] - y[c]);
    }
  }
  return total;
}

template <class T, class I, int D, bool STUDENT>
static double sum_rows_with(const Edges<T, I>& e, const Kernel& kernel, double* force,
                            std::int64_t begin, std::int64_t end) {
  return force ? sum_rows<T, I, D, STUDENT, true>(e, kernel, force, begin, end)
               : sum_rows<T, I, D, STUDENT, false>(e, kernel, force, begin, end);
}

template <class T, class I, int D>
static double sum_rows_of(const Edges<T, I>& e, const Kernel& kernel, double* force,
                          std::int64_t begin, std::int64_t end) {
  return kernel.family == Family::STUDENT
             ? sum_rows_with<T, I, D, true>(e, kernel, force, begin, end)
             : sum_rows_with<T, I, D, false>(e, kernel, force, begin, end);
}

template <class T, class I>
double sum_edges_of_rows(const Edges<T, I>& e, const Kernel& kernel, double* force,
                         std::int64_t begin, std::int64_t end) {
  switch (e.d) {
    case 1:
      return sum_rows_of<T, I, 1>(e, kernel, force, begin, end);
    case 2:
      return sum_rows_of<T, I, 2>(e, kernel, force, begin, end);
    case 3:
      return sum_rows_of<T, I, 3>(e, kernel, force, begin, end);
    default:
      return sum_rows_plain<T, I>(e, kernel, force, begin, end);
  }
}

template <class T, class I>
void edge_weights_of_rows(const Edges<T, I>& e, const Kernel& kernel, std::int64_t begin,
                          std::int64_t end, T* out) {
  const T slope = T(kernel.power / kernel.scale), inverse = T(1.0 / kernel.scale);
  const bool student = kernel.family == Family::STUDENT;
  for (std::int64_t n = begin; n < end; ++n)
    for (I j = e.graph.indptr[n]; j < e.graph.indptr[n + 1]; ++j) {
      T t = 0;
      const T* x = e.from + n * e.d;
      const T* y = e.points + static_cast<std::int64_t>(e.graph.indices[j]) * e.d;
      if (student)
        for (int c = 0; c < e.d; ++c) t += (x[c] - y[c]) * (x[c] - y[c]);
      out[j] = slope * e.graph.values[j] / (T(1) + t * inverse);
    }
}

template <class T>
double entropy_of_weights(const T* weights, std::int64_t begin, std::int64_t end) {
  using V = typename LanesOf<T>::type;
  constexpr int W = LanesOf<T>::lanes, BLOCK = 16 * W;  // few enough terms for single precision
  // Constants: templates of the standard library would be shared with other instruction sets.
  const V least = all<V>(sizeof(T) == sizeof(float) ? T(FLT_MIN) : T(DBL_MIN));
  double total = 0.0;
  for (std::int64_t block = begin; block < end; block += BLOCK) {
    const std::int64_t stop = smaller(block + BLOCK, end);
    V terms = all<V>(T(0));
    for (std::int64_t i = block; i < stop; i += W) {
      V p = all<V>(T(0));
      if (i + W <= stop)
        p = load<V>(weights + i);
      else
        for (int l = 0; i + l < stop; ++l) p[l] = weights[i + l];
      terms = terms + p * log2(select(p < least, least, p));
    }
    total += sum(terms);
  }
  return -LN2 * total;
}

#define CK_INSTANTIATE(T) \
  template double entropy_of_weights<T>(const T*, std::int64_t, std::int64_t);
CK_INSTANTIATE(float)
CK_INSTANTIATE(double)
#undef CK_INSTANTIATE

#define CK_INSTANTIATE(T, I)                                                                \
  template double sum_edges_of_rows<T, I>(const Edges<T, I>&, const Kernel&, double*,       \
                                          std::int64_t, std::int64_t);                      \
  template void edge_weights_of_rows<T, I>(const Edges<T, I>&, const Kernel&, std::int64_t, \
                                           std::int64_t, T*);
CK_INSTANTIATE(float, std::int32_t)
CK_INSTANTIATE(float, std::int64_t)
CK_INSTANTIATE(double, std::int32_t)
CK_INSTANTIATE(double, std::int64_t)
#undef CK_INSTANTIATE

}  // namespace closeknit::CK_ISA
