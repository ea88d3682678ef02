// The kernels K(t) of squared distances t = ‖x - y‖² in an embedding.
#pragma once

namespace closeknit {

enum class Family : int { GAUSSIAN, STUDENT, EPANECHNIKOV };

// Gaussian: exp(-power t / scale). Student's t: (1 + t / scale)^-power. Epanechnikov:
// max(0, 1 - t). Power and scale are 1 in the usual models.
struct Kernel {
  Family family;
  double scale;
  double power;
};

static inline bool is_plain(const Kernel& kernel) {
  return kernel.scale == 1.0 && kernel.power == 1.0;
}

}  // namespace closeknit
