#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the project needs on Debian 12 and nothing that is already there:
#   scripts/bootstrap.sh build   what building and running needs (Debian packages; torch in .venv/)
#   scripts/bootstrap.sh test    that, and what the tests and checks need
#   scripts/bootstrap.sh soak    that, and a Python that can import torch (.venv-torch/), for torchrun
# Asks the network for nothing when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh

purpose=${1:-build}
case $purpose in build | test | soak) ;; *)
  echo "bootstrap.sh: unknown purpose '$purpose' (build, test or soak)" >&2
  exit 2
  ;;
esac

torch_version=2.11.0
plotly_version=6.3.1

build_packages=(
  g++ cmake ninja-build pkgconf
  libcli11-dev libeigen3-dev libfmt-dev libgloo-dev libsqlite3-dev libtomlplusplus-dev
  nlohmann-json3-dev zlib1g-dev
  python3-venv dataset-fashion-mnist ca-certificates
)
test_packages=(
  libgtest-dev libgmock-dev
  clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev lld-19 shellcheck
  chromium fonts-dejavu-core procps util-linux git
  slurm-wlm munge openmpi-bin
)

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "These packages are missing and need root to install: ${missing[*]}" >&2
    echo "Run as root: apt-get install ${missing[*]}" >&2
    exit 2
  fi
}

install_packages() {
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

wanted=("${build_packages[@]}")
[ "$purpose" != build ] && wanted+=("${test_packages[@]}")
mapfile -t missing < <(missing_packages "${wanted[@]}")
if [ ${#missing[@]} -gt 0 ]; then
  step "Install ${#missing[@]} Debian packages" \
    "check the network and 'apt-get update', then run the command again" install_packages
fi

# The wheels: libtorch (with the two CUDA libraries that its shared objects name, used on CPUs too) and
# Plotly's JavaScript bundle. --no-deps keeps the other 3 GB of CUDA packages away.
wheels=("torch==$torch_version" "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cupti==13.0.*" "plotly==$plotly_version")
stamp=.venv/installed-wheels
install_wheels() {
  rm -rf .venv
  /usr/bin/python3 -m venv .venv
  .venv/bin/pip install --quiet --no-cache-dir --no-deps "${wheels[@]}"
  printf '%s\n' "${wheels[@]}" >"$stamp"
}
if [ "$(cat "$stamp" 2>/dev/null)" != "$(printf '%s\n' "${wheels[@]}")" ]; then
  step "Install libtorch $torch_version and Plotly $plotly_version in .venv (1.3 GB)" \
    "check the network and that 4 GB of disk are free, then run the command again" install_wheels
fi

torch_stamp=.venv-torch/installed-wheels
install_python_torch() {
  rm -rf .venv-torch
  /usr/bin/python3 -m venv .venv-torch
  .venv-torch/bin/pip install --quiet --no-cache-dir "torch==$torch_version"
  echo "$torch_version" >"$torch_stamp"
}
if [ "$purpose" = soak ] && [ "$(cat "$torch_stamp" 2>/dev/null)" != "$torch_version" ]; then
  step "Install PyTorch $torch_version for torchrun in .venv-torch (5 GB)" \
    "check the network and that 12 GB of disk are free, then run the command again" install_python_torch
fi
