"""Problems with checkable answers, the language models that answer them, and their completions."""
