# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make docker-tests` starts a Docker daemon of its own and
# runs the service in it, from a clean clone, as TAP.  Needs root.
docker-tests: targets
	TARGETS=$(abspath $B/targets) ci/docker.sh

.PHONY: docker-tests
