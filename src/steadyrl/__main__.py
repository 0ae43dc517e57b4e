"""`python -m steadyrl`, which is also how launchers start several processes."""

import sys

from steadyrl.cli.main import main
from steadyrl.core.launch import launched

code = main()
if launched().count > 1 and "torch" in sys.modules:
    from steadyrl.nets.processes import leave

    leave(code)
sys.exit(code)
