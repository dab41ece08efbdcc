# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  Measuring programs for `make bench`, of the
# product's own objects: no fault points, the same flags.
$B/bench/%: $B/o/tests/bench/%.o $(OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDHARD) -o $@ $^ $(LIBS)
