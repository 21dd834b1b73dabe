#!/usr/bin/env bash
# Installs what a build or the tests need and is missing: Debian 12 packages, and with "test" a private
# Python environment in .venv with LiteRT, the reference the tests compare with. Sourced or called by
# demo.sh and test.sh; does nothing when everything is there.
#   scripts/install.sh build|test|ci
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what=${1:-build}

packages=(g++ cmake ninja-build ccache libflatbuffers-dev flatbuffers-compiler libexpected-dev libfmt-dev
          libcli11-dev nlohmann-json3-dev libjpeg62-turbo-dev libpng-dev libstb-dev libxxhash-dev
          zlib1g-dev)
[ "$what" = build ] || packages+=(libgtest-dev libgmock-dev librapidcheck-dev python3 python3-venv git)
[ "$what" = ci ] && packages+=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev)
# Tests that need these skip without them, and say so.
optional=()
[ "$what" = build ] || optional+=(libdrm2)
[ "$what" = ci ] && optional+=(g++-aarch64-linux-gnu qemu-user-static)

# not_installed PACKAGE...: those that are missing, one a line.
not_installed() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || echo "$package"
  done
}
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
apt_install() {
  echo "installing: $*" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

mapfile -t missing < <(not_installed "${packages[@]}")
mapfile -t wanted < <([ ${#optional[@]} -eq 0 ] || not_installed "${optional[@]}")
if [ ${#missing[@]} -gt 0 ]; then
  [ ${#as_root[@]} -eq 0 ] || command -v sudo >/dev/null ||
    { echo "these packages are missing and sudo is not there: ${missing[*]}" >&2; exit 1; }
  "${as_root[@]}" apt-get update -qq
  apt_install "${missing[@]}"
fi
if [ ${#wanted[@]} -gt 0 ]; then
  apt_install "${wanted[@]}" || echo "not installed: ${wanted[*]}; the tests that need them are skipped" >&2
fi

if [ "$what" != build ]; then
  # The test environment is a plain venv; an unfinished one (no marker) is made again.
  marker=.venv/installed-$(sha256sum tests/requirements.txt | cut -c1-16)
  if [ ! -e "$marker" ]; then
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
    touch "$marker"
  fi
fi
