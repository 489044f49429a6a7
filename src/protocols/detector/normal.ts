// The normal distribution's tail, as far as phi-accrual needs it.

/** The chance of more than `z` deviations above the mean. Abramowitz and Stegun 7.1.26; absolute error below 1.5e-7, relative error small in the tail. */
export function tail(z: number): number {
  if (z < 0) return 1 - tail(-z);
  const x = z / Math.SQRT2;
  // Laplace's continued fraction, cut off after three terms: within 0.1 % from here on, and the better the further out.
  if (z > 3)
    return (Math.exp(-x * x) / (x * Math.sqrt(Math.PI) * 2)) * (1 / (1 + 1 / (2 * x * x + 2 / (1 + 3 / (2 * x * x)))));
  const t = 1 / (1 + 0.3275911 * x);
  const polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return (polynomial * Math.exp(-x * x)) / 2;
}

/** The inverse: returns the number of deviations above the mean that is exceeded with the chance `chance`. */
export function quantileOfTail(chance: number): number {
  let [low, high] = [-8, 38];
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2;
    if (tail(middle) > chance) low = middle;
    else high = middle;
  }
  return high;
}
