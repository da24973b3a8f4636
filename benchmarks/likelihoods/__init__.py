"""Every kind of value with the likelihood it has, beside Gaussian noise."""
