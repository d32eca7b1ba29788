#!/bin/sh
# The command actorlet. What it runs is found now, with links resolved: another release may take that place while
# this one runs.
here=$(readlink -f @HOME@) && [ -d "$here" ] || { echo "actorlet: it is no longer at "@HOME@": install it again" >&2; exit 70; }
python=$here/@PYTHON@
[ -x "$python" ] || { echo "actorlet: the Python that it was made for is gone, or not for this user ($python): install it again, with a PYTHON that all may run" >&2; exit 70; }
exec "$python" -P "$here/command/__main__.py" "$@"
