// The strongest edges of a weighted graph, and samples of the others.
#pragma once

#include <cstdint>

#include "common/csr.h"

namespace closeknit {

class ThreadPool;

// Sets keep[e] for each stored entry e that is among the k largest of its row or of its column; of
// equal weights the first. The matrix is symmetric, with ascending indices in each row. Returns a
// row with an entry whose mirror image is not stored, or −1.
template <class I, class T>
std::int64_t mark_strongest(const Csr<I, T>& weights, std::int64_t k, std::uint8_t* keep,
                            ThreadPool& pool);

// What sample_entries sets for an entry that is among the strongest of its row.
constexpr std::uint8_t STRONGEST = 255;

// Draws from each row: own[e] is STRONGEST for the k largest entries, and for the others how often
// the entry was drawn, m times in all and with probabilities proportional to weights, which are not
// negative. rest[i] is the sum of row i without its strongest. Row i has the number first + i,
// which decides with the seed what is drawn.
template <class I, class T>
void sample_rows(const Csr<I, T>& weights, std::int64_t k, int m, std::uint64_t seed,
                 std::int64_t first, std::uint8_t* own, double* rest, ThreadPool& pool);

// Sets mirrored[e'] = own[e] for the mirror image e' of each entry whose own[e] is not zero; the
// matrix is symmetric, with ascending indices in each row. Returns a row with such an entry whose
// mirror image is not stored, or −1.
template <class I, class T>
std::int64_t mirror(const Csr<I, T>& weights, const std::uint8_t* own, std::uint8_t* mirrored,
                    ThreadPool& pool);

}  // namespace closeknit
