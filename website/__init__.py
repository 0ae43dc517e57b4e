"""The documentation site: `python -m website` stages the pages, checks them and builds them."""
