"""What trainers learn from: replay buffers and, later, rollouts and demonstrations."""
