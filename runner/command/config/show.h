/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CONFIG_SHOW_H
#define RUNNER_COMMAND_CONFIG_SHOW_H

#include "base/json.h"
#include "runner/command/command.h"

/* Shows the values of a target's cell and the source of each: config_explain(), and the target's
 * side files. Finds the targets. Returns an exit status, with the error printed. */
int config_show(struct common *c, const char *target, json_t **ret);

#endif
