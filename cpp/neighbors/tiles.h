// The shape of the tiles in which inner products are taken (see panels.h).
#pragma once

namespace closeknit {

// Six rows by two vectors of columns keep twelve sums in registers, which is what hides the
// latency of the multiply-add on machines with sixteen registers.
constexpr int TILE_ROWS = 6;
constexpr int TILE_FLOATS = 16;  // columns of a tile
constexpr int TILE_DOUBLES = 8;

}  // namespace closeknit
