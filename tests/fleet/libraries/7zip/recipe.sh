# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# 7zip: its reader of .7z archives in C, with LZMA, LZMA2, PPMd and the filters.
sources='C/7zAlloc.c C/7zArcIn.c C/7zBuf.c C/7zCrc.c C/7zCrcOpt.c C/7zDec.c C/7zStream.c C/Bcj2.c
	C/Bra.c C/Bra86.c C/BraIA64.c C/CpuArch.c C/Delta.c C/Lzma2Dec.c C/LzmaDec.c C/Ppmd7.c
	C/Ppmd7Dec.c'
flags="-I$src/C -DZ7_PPMD_SUPPORT -DZ7_EXTRACT_ONLY"
