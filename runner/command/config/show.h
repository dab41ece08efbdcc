/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CONFIG_SHOW_H
#define RUNNER_COMMAND_CONFIG_SHOW_H

#include "base/json.h"
#include "runner/command/command.h"

/* What a target's cell gets, and where each value comes from: config_explain(), and what the
 * target's side files say.  Finds the targets; returns an exit status, with the error printed. */
int config_show(struct common *c, const char *target, json_t **ret);

#endif
