/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/honggfuzz/honggfuzz.h"

#include <signal.h>
#include <stdio.h>

/* --- flags ---------------------------------------------------------------- */

/* "-mutations_per_run=3" for honggfuzz's "--mutations_per_run 3".  Others belong to us, or leave
 * the cell. */
static const char *const flags[] = {"mutations_per_run", NULL};

static bool honggfuzz_takes(struct slice flag, uint64_t *ret)
{
	return scan_lit(&flag, SLICE("-mutations_per_run=")) &&
	       scan_u64(&flag, 10, UINT32_MAX, ret) && flag.n == 0;
}

static bool honggfuzz_flag_ok(struct slice flag, char why[160])
{
	uint64_t value;

	if (honggfuzz_takes(flag, &value))
		return true;
	(void)snprintf(why, 160, "of honggfuzz's flags, only -mutations_per_run=NUMBER may be set");
	return false;
}

/* --- commands ------------------------------------------------------------- */

static void honggfuzz_add_number(struct strv *v, const char *flag, uint64_t n)
{
	strv_push(v, flag);
	strv_pushf(v, "%llu", (unsigned long long)n);
}

static void honggfuzz_add_chosen(const struct engine_fuzz *job, struct strv *v)
{
	uint64_t value;

	if (job->runs)
		honggfuzz_add_number(v, "-N", job->runs);
	if (job->max_len)
		honggfuzz_add_number(v, "-F", job->max_len);
	if (job->dict && job->dict[0]) {
		strv_push(v, "-w");
		strv_push(v, job->dict);
	}
	for (size_t i = 0; job->flags && job->flags[i]; i++)
		if (honggfuzz_takes(slice_of(job->flags[i]), &value))
			honggfuzz_add_number(v, "--mutations_per_run", value);
}

static int honggfuzz_fuzz(const struct engine_fuzz *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .reports_abort = true,
				    .ends_by_signal = true,
				    .no_leaks = true};
	struct engine_cmd c = {0};
	struct strv *v = &c.argv;

	strv_push(v, "honggfuzz");
	strv_push(v, "-v"); /* lines, no screen */
	strv_push(v, "-P");
	honggfuzz_add_number(v, "-n", 1);
	strv_push(v, "-i");
	strv_push(v, job->seed_dirs[0]);
	strv_push(v, "--output");
	strv_push(v, job->corpus_dir);
	strv_push(v, "-W");
	strv_pushf(v, "%s/ws", job->artifact_dir);
	honggfuzz_add_number(v, "--run_time", job->max_time_s);
	honggfuzz_add_number(v, "-t", job->input_timeout_s);
	strv_push(v, "-T"); /* the input of a timeout is saved */
	honggfuzz_add_chosen(job, v);
	strv_push(v, "--");
	strv_push(v, job->binary);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* --- files ---------------------------------------------------------------- */

/* "SIGABRT.PC.7ffff7d86eec.STACK.18b4c6f53e.CODE.-6.ADDR.0.INSTR.mov____%eax,%ebp.fuzz" */
static enum engine_artifact honggfuzz_artifact(struct slice name)
{
	struct slice rest = name;

	if (!slice_cut_end(&name, SLICE(".fuzz")))
		return ENGINE_ARTIFACT_NONE;
	if (scan_lit(&rest, SLICE("SIGVTALRM.")))
		return ENGINE_ARTIFACT_TIMEOUT;
	return scan_lit(&rest, SLICE("SIG")) ? ENGINE_ARTIFACT_CRASH : ENGINE_ARTIFACT_NONE;
}

static const struct engine_dir dirs[] = {{"ws", true}, {NULL, false}};

/* The signature is what honggfuzz itself looks for (libhfuzz/persistent.c). */
static const char *const marks[] = {"_LIBHFUZZ_PERSISTENT_BINARY_SIGNATURE_", NULL};

const struct engine_ops engine_honggfuzz = {
    .name = "honggfuzz",
    .marks = marks,
    .fuzz = honggfuzz_fuzz,
    .replay = separate_replay,
    .flags = flags,
    .flag_ok = honggfuzz_flag_ok,
    .line = honggfuzz_line,
    .classify = separate_classify,
    .artifact = honggfuzz_artifact,
    .dirs = dirs,
    .goes_on = true,
    .one_input = true,
    .separate = true,
    .takes_turns = true,
    .file_bytes = UINT64_C(160) << 20, /* its coverage map: 145 MiB, of which little is used */
    .stop_signal = SIGTERM,
    .dump_signal = SIGTERM,
};
