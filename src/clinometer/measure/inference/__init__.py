"""How sure a measurement is: resampling, correction, sample size."""
