#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks whether the dashboard of this container answers and can read the state.  The image has no
# HTTP client, so this uses bash's TCP connections.
#
# usage: dashboard-health.sh [PORT [PATH]]    PATH: prints this page
set -eu -o pipefail

exec 3<>"/dev/tcp/127.0.0.1/${1:-8089}"
printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "${2:-/healthz}" >&3
IFS= read -r -t 8 line <&3
[[ $line == 'HTTP/1.1 200 '* ]] || {
	printf '%q\n' "$line"
	exit 1
}
while IFS= read -r -t 8 line && [[ $line != $'\r' ]]; do :; done <&3
[[ $# -lt 2 ]] || cat <&3
