"""The stability layer: it watches Steps, names causes and proposes remedies. It never trains."""
