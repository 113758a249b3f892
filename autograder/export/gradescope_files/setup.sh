#!/usr/bin/env bash
# Runs once, when Gradescope builds the image: Python, the sandbox's system packages, and the
# grader in an environment of its own. AUTOGRADER_ROOT is another place for /autograder, to try
# this elsewhere; AUTOGRADER_NO_APT=1 leaves the system's packages as they are.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
here=$root/source

recent() {
    for python in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
        if [ -n "$python" ] && "$python" -c \
            'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

if [ -z "${AUTOGRADER_NO_APT:-}" ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    # without these a submission is less isolated, and the output of each run says so
    apt-get -q install -y --no-install-recommends libseccomp2 bubblewrap || true
    if ! recent >/dev/null; then
        apt-get -q install -y --no-install-recommends python3.12 python3.12-venv ||
            apt-get -q install -y --no-install-recommends python3.11 python3.11-venv
    fi
fi
if ! python=$(recent); then
    echo "No Python 3.11 or newer with venv: choose a newer base image (Ubuntu 24.04)." >&2
    exit 1
fi

"$python" -m venv --clear "$root/venv"
if [ -e "$here/needs-torch" ]; then
    "$root/venv/bin/python" -m pip install -q torch --index-url https://download.pytorch.org/whl/cpu
fi
"$root/venv/bin/python" -m pip install -q "$(echo "$here"/attention_autograder-*.whl)[grading]"

chmod -R go-rwx "$here/solutions"
