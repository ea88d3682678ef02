// Squared Euclidean distances between chosen pairs of rows.
#pragma once
