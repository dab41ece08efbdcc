/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_SOURCE_GO_H
#define RUNNER_CONFIG_SOURCE_GO_H

#include "runner/config/config.h"

/* A module of Go becomes an output directory below it, with a build command: a test program for
 * each package that has fuzz tests, <package>.test, and the package's testdata/ in <package>/.  The
 * command needs `go`, and no network if the module's dependencies are in the module cache or in
 * vendor/. */
void source_of_go(struct config_source *io);

#endif
