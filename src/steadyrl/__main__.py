"""`python -m steadyrl`."""

import sys

from steadyrl.cli.main import main

sys.exit(main())
