/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CONTROL_CONTROL_H
#define RUNNER_COMMAND_CONTROL_CONTROL_H

/* Commands for an active run (docs/control.md). */
int command_status(int argc, char **argv);
int command_stop(int argc, char **argv);
int command_start(int argc, char **argv);
int command_skip(int argc, char **argv);
int command_workers(int argc, char **argv);

#endif
