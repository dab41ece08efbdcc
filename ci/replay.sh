#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: ci/replay.sh BUILD/replay/PARSER    its corpus through one of our parsers
exec "$1" "tests/corpus/${1##*/}"
