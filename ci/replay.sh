#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: ci/replay.sh BUILD/replay/PARSER    runs one of our parsers on its corpus
exec "$1" "tests/corpus/${1##*/}"
