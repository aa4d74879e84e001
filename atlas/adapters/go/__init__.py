"""Sources of adapters in another language; a package, so that the wheel has them."""
