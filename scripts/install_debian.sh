#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs every Debian package that the build, the tests and the default data set need. Does nothing,
# quickly, when all of them are there. Needs root or sudo only when something is missing.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache
  libboost1.81-dev libboost-program-options1.81-dev
  libopenmpi-dev openmpi-bin
  nlohmann-json3-dev catch2
  libopenblas-dev libopenblas0-pthread
  libxxhash-dev libisal-dev zlib1g-dev libsqlite3-dev libssl-dev openssl
  dataset-fashion-mnist
  chromium
  python3
)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_debian.sh: this is no Debian system; install the counterparts of: ${packages[*]}" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "install_debian.sh: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install_debian.sh: missing: ${missing[*]}" >&2
    echo "install_debian.sh: run this as root, or install sudo" >&2
    exit 2
  fi
  as_root=(sudo "${as_root[@]}")
fi

install() {
  "${as_root[@]}" apt-get install --yes --no-install-recommends "${missing[@]}"
}

# Package lists may be absent (containers) or name versions that the mirror no longer has. An update
# cures both.
has_candidates() {
  local package candidate
  for package in "${missing[@]}"; do
    candidate=$(apt-cache policy "$package" 2>/dev/null | sed -n 's/^ *Candidate: //p')
    [[ -n $candidate && $candidate != "(none)" ]] || return 1
  done
}

echo "install_debian.sh: installing ${missing[*]} with apt-get"
if has_candidates && install; then
  exit 0
fi
echo "install_debian.sh: the package lists look stale; apt-get update, then again"
"${as_root[@]}" apt-get update
install
