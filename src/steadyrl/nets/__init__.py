"""Networks with written-out passes, any torch module behind the same interface, and Adam."""
