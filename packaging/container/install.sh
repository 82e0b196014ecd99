#!/bin/sh
# What both definitions do inside: hpctop of the archive of `make tarball`, and the libraries that it looks for at run time.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends libotf2-trace-dev libsqlite3-0 man-db
rm -rf /var/lib/apt/lists/*
mkdir -p /opt/hpctop
tar -C /opt/hpctop --strip-components=1 -xzf /usr/local/src/hpctop.tar.gz
rm /usr/local/src/hpctop.tar.gz
ln -s /opt/hpctop/bin/hpctop /usr/local/bin/hpctop
