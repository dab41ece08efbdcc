# SPDX-License-Identifier: Apache-2.0
# docker build -t fuzzcell .        see compose.yaml for what it needs to run; `make image` adds
#                                   version and revision
#
# Build arguments:
#   BASE        an image of Debian 12; all packages come from its apt sources, and nothing
#               else comes from the network (docs/operations.md, "Without internet")
#   SYMBOLIZER  package of llvm-symbolizer, which puts names into crash reports;
#               "" leaves it out (190 MB less): crashes then have addresses only
#   PACKAGES    more packages for the image: what builds your targets inside it, such
#               as "clang libclang-rt-14-dev make", and libraries that they load
#   VERSION, REVISION   labels of the image
ARG BASE=debian:bookworm-slim
FROM ${BASE} AS build
WORKDIR /src
COPY ci/deps.sh ci/
RUN sh ci/deps.sh build
COPY . .
RUN make -s -j"$(nproc)" all && \
	make -s install DESTDIR=/install PREFIX=/usr/local SYSTEMD_DIR=

FROM ${BASE} AS fuzzcell
ARG SYMBOLIZER=llvm-14
ARG PACKAGES=
# Libraries of fuzzcell and of targets (libstdc++6), what starts cells (crun), and what
# fetches pushes (git, over ssh and https).
RUN apt-get -q update && \
	DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
		ca-certificates crun git openssh-client libarchive13 libcgroup2 libcurl4 \
		libexpat1 libjansson4 libmd0 libmicrohttpd12 libseccomp2 libssl3 libstdc++6 libsystemd0 \
		libyaml-0-2 mount \
		$SYMBOLIZER $PACKAGES && \
	rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log
COPY --from=build /install/ /
COPY docker/ /usr/local/lib/fuzzcell/

ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="fuzzcell" \
	org.opencontainers.image.version="$VERSION" \
	org.opencontainers.image.revision="$REVISION" \
	org.opencontainers.image.description="Continuous fuzzing in hard-limited containers, on one machine" \
	org.opencontainers.image.licenses="Apache-2.0"
# Where fuzzcell keeps its state unless the configuration says otherwise.
ENV HOME=/var/lib/fuzzcell
VOLUME /var/lib/fuzzcell
# A run that is told to stop saves everything first.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=1m --timeout=20s --start-period=1m --retries=3 \
	CMD ["/usr/local/lib/fuzzcell/health.sh"]
ENTRYPOINT ["/usr/local/lib/fuzzcell/entrypoint.sh"]
CMD ["help"]
