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
[ "$what" = build ] || packages+=(libgtest-dev libgmock-dev librapidcheck-dev libdrm2 python3 python3-venv git)
[ "$what" = ci ] && packages+=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev
                               g++-aarch64-linux-gnu qemu-user-static)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}" >&2
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "these packages are missing and sudo is not there: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
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
