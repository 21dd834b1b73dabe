#!/usr/bin/env bash
# Fills a folder with what Mesa's delegate needs on a PC (docs/howto/teflon-on-a-pc.md): Debian's arm64 packages from
# sid and Python wheels, unpacked, nothing installed.
#   scripts/teflon_root.sh DIR
set -euo pipefail
mkdir -p "${1:?give a folder}"
cd "$1"
mkdir -p apt/state apt/cache debs wheels ROOT SITE
touch apt/status
cat >apt/sources.list <<EOF
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main
EOF
cat >apt/apt.conf <<EOF
Dir::State "$PWD/apt/state"; Dir::State::status "$PWD/apt/status"; Dir::Cache "$PWD/apt/cache";
Dir::Etc::sourcelist "$PWD/apt/sources.list"; Dir::Etc::sourceparts "/dev/null";
APT::Architecture "arm64"; APT::Architectures "arm64"; Acquire::Languages "none"; Acquire::PDiffs "false";
EOF
APT_CONFIG=$PWD/apt/apt.conf apt-get -qq update
(cd debs && APT_CONFIG=../apt/apt.conf apt-get -qq download mesa-teflon-delegate libdrm2 libc6 libgcc-s1 libstdc++6 zlib1g \
  libzstd1 libexpat1 libffi8 libbz2-1.0 liblzma5 libssl3t64 libuuid1 python3.13-minimal libpython3.13-minimal \
  libpython3.13-stdlib)
for deb in debs/*.deb; do dpkg-deb -x "$deb" ROOT; done
ln -sfn usr/lib ROOT/lib

python3 -m pip download -q --platform manylinux_2_27_aarch64 --python-version 3.13 --only-binary=:all: --no-deps \
  -d wheels numpy ai-edge-litert
for wheel in wheels/*.whl; do python3 -m zipfile -e "$wheel" SITE; done

# LiteRT looks at the processor. qemu shows it the PC's, which it takes wrongly and crashes.
mkdir -p ROOT/proc ROOT/sys/devices/system/cpu
for processor in 0 1; do
  cat <<EOF
processor	: $processor
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x2
CPU part	: 0xd05
CPU revision	: 0

EOF
done >ROOT/proc/cpuinfo
echo 0-1 | tee ROOT/sys/devices/system/cpu/present >ROOT/sys/devices/system/cpu/possible
echo "$PWD: $(cd debs && ls mesa-teflon-delegate*), $(cd wheels && ls ai_edge_litert*)"
