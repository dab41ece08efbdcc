# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# cJSON: a JSON library in C.
sources='cJSON.c cJSON_Utils.c'
flags="-I$src"
