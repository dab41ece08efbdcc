# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make docker-tests` starts a Docker daemon of its own and
# runs the service in it, from a clean clone, and the archives of crashes, as TAP.  Needs root.
docker-tests: all targets
	FUZZCELL=$(abspath $B/fuzzcell) TARGETS=$(abspath $B/targets) ci/docker.sh

.PHONY: docker-tests
