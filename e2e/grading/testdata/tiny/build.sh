# Runs in a container of the demo's base image, in the folder of a package with a C extension, and
# installs it as it is before anybody changes it. The wheels of what builds it are where the test's
# package index finds them.
set -e
apt-get -qq update
apt-get -qq install --no-install-recommends python3-pip python3-dev python3-setuptools python3-wheel \
    python3-setuptools-whl python3-wheel-whl >/dev/null
rm -rf /var/lib/apt/lists/*
git init -q
git config user.name tiny
git config user.email tiny@batch.example
git add -A
git commit -q -m tiny
git tag base
python3 -m pip install -q --no-build-isolation --break-system-packages --root-user-action ignore .
