#!/bin/sh
# Installs the Debian/Ubuntu packages that a build needs and that are missing; says the one command where it may not.
# With "test": also what some tests need (a browser, a Vulkan driver in software), where that can be had; they skip without it. With "arm64": what cross-compiling for
# 64-bit ARM needs, on Debian, where packages of several architectures live side by side.
set -eu

packages="g++ ninja-build ccache python3-dev python3-venv libhwy-dev libgtest-dev nlohmann-json3-dev libprotozero-dev"
optional=""
[ "${1:-}" = test ] && packages="" optional="chromium chromium-driver libvulkan1 mesa-vulkan-drivers"
[ "${1:-}" = arm64 ] && packages="g++-aarch64-linux-gnu qemu-user-static libhwy-dev:arm64 libgtest-dev:arm64 nlohmann-json3-dev libprotozero-dev"

if ! command -v dpkg-query >/dev/null; then
  echo "Not a Debian system: CMake will look for a compiler, ninja, Highway, GoogleTest, nlohmann-json and protozero, and fetch libraries it does not find."
  exit 0
fi

missing=""
for package in $packages $optional; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
# Any CMake will do that is new enough; the virtual environment brings one otherwise.
[ -n "$missing" ] || exit 0

command="apt-get update && apt-get install -y --no-install-recommends$missing"
[ "${1:-}" = arm64 ] && command="dpkg --add-architecture arm64 && $command"
export DEBIAN_FRONTEND=noninteractive
if [ "$(id -u)" = 0 ]; then
  sh -c "$command" || [ -n "$optional" ]
elif sudo -n true 2>/dev/null; then
  sudo -E sh -c "$command" || [ -n "$optional" ]
elif [ -n "$optional" ]; then
  echo "Not installed:$missing. Tests that need them are skipped."
else
  echo "Packages are missing. Please run:" >&2
  echo "  sudo sh -c '$command'" >&2
  exit 1
fi
