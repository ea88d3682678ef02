// Squared Euclidean distances between chosen pairs of rows.
#include "kernels_distances.h"
