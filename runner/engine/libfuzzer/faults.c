/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: which failure its output or its exit status shows. */
#include "base/digest.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

/* Parses reports of libFuzzer, and its errors about its own start.  The formats are those of
 * compiler-rt of LLVM 14 to 19. */

/* Parses the text behind "libFuzzer: ". */
static void on_libfuzzer(struct slice in, struct engine_state *io)
{
	static const struct {
		struct slice text;
		enum engine_fault fault;
	} kinds[] = {
	    {{"deadly signal", 13}, ENGINE_FAULT_CRASH},
	    {{"fuzz target exited", 18}, ENGINE_FAULT_CRASH},
	    {{"fuzz target overwrites its const input", 38}, ENGINE_FAULT_CRASH},
	    {{"overwrites-const-input", 22}, ENGINE_FAULT_CRASH},
	    {{"timeout", 7}, ENGINE_FAULT_TIMEOUT},
	    {{"out-of-memory", 13}, ENGINE_FAULT_OOM},
	    {{"file size exceeded", 18}, ENGINE_FAULT_ENGINE},
	    {{"setitimer failed", 16}, ENGINE_FAULT_ENGINE},
	    {{"sigaction failed", 16}, ENGINE_FAULT_ENGINE},
	};
	struct slice rest = in;

	if (scan_lit(&rest, SLICE("run interrupted")) ||
	    scan_lit(&rest, SLICE("a child was interrupted")))
		io->interrupted = true;
	else if (scan_lit(&rest, SLICE("exiting as requested")))
		io->done = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		rest = in;
		if (scan_lit(&rest, kinds[i].text)) {
			/* The watchdog prints "(used: 423Mb; limit: 384Mb)".  "(malloc(N))" comes
			 * from the allocating thread. */
			if (!io->fault && scan_lit(&rest, SLICE(" (used: ")))
				io->own_thread = true;
			engine_set_fault(io, kinds[i].fault, SLICE("libFuzzer: "), in);
			return;
		}
	}
}

static void on_artifact(struct slice path, struct engine_state *io)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

	if (slash)
		slice_skip(&path, (size_t)(slash - path.p) + 1);
	if (libfuzzer_artifact(path) == ENGINE_ARTIFACT_NONE)
		return;
	slice_print(path, sizeof(io->artifact), io->artifact);
	io->input_printed.known = false;
}

/* -1: not a digit. */
static int base64_digit(char c)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* False: the text is not base64 with padding, or decodes to more than room bytes. */
static bool base64_decode(struct slice in, char *out, size_t room, size_t *ret_n)
{
	size_t pad = 0, n = 0;

	if (in.n % 4 != 0)
		return false;
	while (pad < 2 && in.n > 0 && in.p[in.n - 1] == '=') {
		in.n--;
		pad++;
	}
	for (unsigned long long bits = 0, i = 0; i < in.n; i++) {
		int digit = base64_digit(in.p[i]);

		if (digit < 0)
			return false;
		bits = bits << 6 | (unsigned)digit;
		if (i % 4 == 0)
			continue;
		if (n == room)
			return false;
		out[n++] = (char)(bits >> (4 - 2 * (i % 4 - 1)) & 0xff);
	}
	*ret_n = n;
	return true;
}

/* libFuzzer prints an input of at most 256 bytes after the artifact's name.  This content matters
 * without a free descriptor: then libFuzzer names a file that it could not write. */
static void on_base64(struct slice text, struct engine_state *io)
{
	const char *name = strrchr(io->artifact, '-');
	char hex[DIGEST_SHA1_HEX], *to = io->input_printed.bytes;
	size_t n;

	if (!name || io->input_printed.known ||
	    !base64_decode(text, to, sizeof(io->input_printed.bytes), &n))
		return;
	digest_sha1_hex((struct slice){to, n}, hex);
	io->input_printed.n = n;
	io->input_printed.known = strcmp(name + 1, hex) == 0;
}

/* A report may follow an incomplete line of the target. */
static void libfuzzer_faults_reports(struct slice line, struct engine_state *io)
{
	struct slice rest = line;

	sanitizer_line(line, io);
	if (slice_find(&rest, SLICE("libFuzzer: ")))
		on_libfuzzer(rest, io);
	rest = line;
	if (slice_find(&rest, SLICE("Test unit written to ")))
		on_artifact(rest, io);
	rest = line;
	if (scan_lit(&rest, SLICE("Base64:"))) {
		(void)scan_lit(&rest, SLICE(" ")); /* absent for an empty input */
		on_base64(rest, io);
	}
}

/* libFuzzer's own errors, after which it exits with 1.  The texts are long because any library may
 * print lines that begin with "ERROR: ". */
static void libfuzzer_faults_complaints(struct slice line, struct engine_state *io)
{
	static const struct slice texts[] = {
	    {"ERROR: The required directory ", 30},
	    {"ERROR: Failed to create directory ", 34},
	    {"ERROR: Provided directory path is an empty string", 49},
	    {"ERROR: The size of coverage PC tables does not match", 52},
	    {"ERROR: Failed to set focus function", 35},
	    {"ERROR: argv[0] has been modified in LLVMFuzzerInitialize", 56},
	    {"ERROR: no interesting inputs were found", 39},
	    {"ParseDictionaryFile: error in line ", 35},
	    {"No such directory: ", 19},
	    {"No such file or directory: ", 27},
	};
	struct slice rest = line;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (scan_lit(&rest, texts[i]))
			engine_set_fault(io, ENGINE_FAULT_ENGINE, SLICE(""), line);
	/* "==1==LeakSanitizer has encountered a fatal error.": ptrace is not permitted. */
	if (scan_lit(&rest, SLICE("==")) && slice_find(&rest, SLICE("==")) &&
	    scan_lit(&rest, SLICE("LeakSanitizer has encountered a fatal error")))
		engine_set_fault(io, ENGINE_FAULT_ENGINE, SLICE("LeakSanitizer: "),
				 SLICE("fatal error"));
}

void libfuzzer_failure(struct slice line, struct engine_state *io)
{
	libfuzzer_faults_reports(line, io);
	libfuzzer_faults_complaints(line, io);
}
