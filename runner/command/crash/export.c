/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/pack.h"
#include "base/sys.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/byhand.h"
#include "runner/command/common/shell.h"
#include "runner/command/crash/crash.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/vault.h"
#include "runner/targets/sidefiles.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define DIR_OUT "out"

struct export
{
	struct session session;
	const char *target, *output;
	struct crash_subject subject;
	const struct plan_entry *entry;
	char *binary;	/* its path below DIR_OUT */
	char name[300]; /* the directory in the archive */
	bool has_minimized;
	struct sidefiles side;
	bool json;
};

#define AT(member) OPTION_AT(struct export, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct export, session.common),
    TARGETS_OPTION(struct export, session.common),
    {"target", "NAME", "the input and the binary of this target (default: the first that has one)",
     AT(target)},
    {"o,output", "FILE", "the archive, a .tar.gz or .tgz (default: <target>-<crash>.tar.gz here)",
     AT(output)},
    {"json", NULL, "print JSON", AT(json)},
};

/* --- what is in it -------------------------------------------------------- */

static int crash_export_add(const struct export *a, struct pack *p, const char *file, mode_t mode,
			    struct slice text, struct err *e)
{
	char path[PACK_NAME_MAX + 1];

	snprintf(path, sizeof(path), "%s/%s", a->name, file);
	return pack_add(p, path, mode, text, e);
}

static int add_fd(const struct export *a, struct pack *p, const char *file, mode_t mode, int fd,
		  struct err *e)
{
	char path[PACK_NAME_MAX + 1];

	snprintf(path, sizeof(path), "%.300s/%.600s", a->name, file);
	return pack_add_file(p, path, mode, fd, e);
}

static int crash_export_add_file(const struct export *a, struct pack *p, const char *file,
				 mode_t mode, const char *from, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = fs_open_file(AT_FDCWD, from, O_RDONLY, 0, &fd, e);

	return r < 0 ? r : add_fd(a, p, file, mode, fd, e);
}

static struct byhand byhand_of(const struct export *a, const char *binary)
{
	return (struct byhand){.target = a->entry,
			       .dir = SHELL_HERE "/" DIR_OUT,
			       .binary = binary,
			       .input = SHELL_INPUT};
}

/* The line that announced the crash in its report; "": there is none. */
static int crash_export_headline(const struct export *a, char ret[CRASH_LINE], struct err *e)
{
	const struct known_crash *c = a->subject.entry;
	struct crash_options o = {.target = c->fuzzer};
	_autofree_ char *text = NULL;
	struct crash_report report;
	size_t n;
	int r = vault_read(a->session.state->dirfd, slice_of(c->signature), c->fuzzer, VAULT_REPORT,
			   &text, &n, e);

	ret[0] = '\0';
	if (r == -ENOENT) /* a merged crash may lack it */
		return 0;
	if (r < 0)
		return r;
	crash_parse((struct slice){text, n}, &o, &report);
	(void)crash_line(report.headline, ret);
	crash_report_done(&report);
	return 0;
}

/* What the script looks for in the output where there is no fuzzcell: the headline, and then the
 * functions in their order, a line each.  A report may add arguments to their names. */
static int crash_export_expected(const struct export *a, struct pack *p, struct err *e)
{
	const struct known_crash *c = a->subject.crash;
	_autobuf_ struct buf b = BUF_INIT(BYHAND_MAX);
	char line[CRASH_LINE];
	int r = crash_export_headline(a, line, e);

	if (r < 0)
		return r;
	if (*line)
		buf_printf(&b, "%s\n", line);
	for (size_t i = 0; *line && i < c->crash_state.n; i++) {
		char name[CRASH_LINE];
		size_t n = strcspn(crash_line(c->crash_state.v[i], name), "(<");

		/* Without functions, the state is NULL or the target. */
		if (n > 0 && strcmp(name, "NULL") != 0 && strcmp(name, c->fuzzer) != 0)
			buf_printf(&b, "%.*s\n", (int)n, name);
	}
	return crash_export_add(a, p, "expected", 0644, buf_slice(&b), e);
}

/* Runs the script in a container with the programs of its Dockerfile: without a network, and with
 * the memory of the cell. */
static const char script_container[] =
    "for tool in docker podman; do\n"
    "\tif [ -n \"$bare\" ] || [ ! -s \"$here\"/Dockerfile ]; then\n"
    "\t\tbreak\n"
    "\tfi\n"
    "\t$tool info >/dev/null 2>&1 || continue\n"
    "\timage=fuzzcell-reproduce\n"
    "\tif ! $tool build -q -t \"$image\" - <\"$here\"/Dockerfile >/dev/null; then\n"
    "\t\techo 'reproduce.sh: no image; with --bare it runs on this machine' >&2\n"
    "\t\texit 2\n"
    "\tfi\n"
    "\texec $tool run --rm --network none --cap-drop ALL --security-opt no-new-privileges \\\n"
    "\t\t--read-only --tmpfs /tmp --pids-limit 4096 --memory \"$memory\" \\\n"
    "\t\t-v \"$here:/bundle:ro\" -v \"$input:/input:ro\" \"$image\" \\\n"
    "\t\tsh /bundle/reproduce.sh --bare /input\n"
    "done\n";

/* Runs the command of run(), and compares. */
static const char script_end[] =
    "said=$(mktemp) || exit 2\n"
    "trap 'rm -f \"$said\"' EXIT\n"
    "status=0\n"
    "run >\"$said\" 2>&1 || status=$?\n"
    "cat \"$said\"\n"
    "if [ \"$status\" -eq 0 ]; then\n"
    "\techo \"reproduce.sh: it passes\"\n"
    "\texit 0\n"
    "elif command -v fuzzcell >/dev/null; then\n"
    "\tgot=$(fuzzcell crash parse --target \"$target\" \"$said\" | sed -n 's/^signature *//p')\n"
    "\tby='its signature'\n"
    "elif [ -s \"$here\"/expected ]; then\n"
    "\tgot=$(awk -v crash=\"$crash\" '\n"
    "\t\tfunction plain(line) {\n"
    "\t\t\tgsub(/0x[0-9a-f]+|[0-9]+/, \"0\", line)\n"
    "\t\t\treturn line\n"
    "\t\t}\n"
    "\t\tNR == 1 { headline = plain($0); next }\n"
    "\t\tNR == FNR { want[++n] = $0; next }\n"
    "\t\tindex(plain($0), headline) { found = 1 }\n"
    "\t\ti < n && index($0, want[i + 1]) { i++ }\n"
    "\t\tEND { if (found && i == n) print crash }' \"$here\"/expected \"$said\")\n"
    "\tby='what its report says'\n"
    "else\n"
    "\techo \"reproduce.sh: it fails; only fuzzcell can tell whether this is crash $crash\"\n"
    "\texit 2\n"
    "fi\n"
    "if [ \"$got\" = \"$crash\" ]; then\n"
    "\techo \"reproduce.sh: crash $crash, by $by\"\n"
    "\texit 1\n"
    "fi\n"
    "echo \"reproduce.sh: it fails, but not as crash $crash, by $by\"\n"
    "command -v llvm-symbolizer >/dev/null || echo 'There is no llvm-symbolizer to name "
    "functions.'\n"
    "exit 2\n";

static int crash_export_script(const struct export *a, struct pack *p, struct err *e)
{
	_autofree_ char *binary = xasprintf(SHELL_HERE "/" DIR_OUT "/%s", a->binary);
	_autobuf_ struct buf b = BUF_INIT(BYHAND_MAX);
	const struct known_crash *c = a->subject.crash;
	char sig[CRASH_LINE], what[CRASH_LINE];
	struct byhand hand = byhand_of(a, binary);
	int r;

	buf_printf(
	    &b,
	    "#!/bin/sh\n"
	    "# Crash %s of %s: %s\n"
	    "# Runs its input as fuzzcell did, but for the limits of a cell: in a container, if "
	    "Docker\n"
	    "# or Podman is there; else, and with --bare, on this machine.\n"
	    "# usage: reproduce.sh [--bare] [INPUT]\n"
	    "# Exit status: 0 it passes, 1 this crash, 2 another failure, or it cannot tell.\n"
	    "here=$(cd \"$(dirname \"$0\")\" && pwd) || exit\n"
	    "bare=\n"
	    "[ \"${1:-}\" != --bare ] || { bare=1; shift; }\n"
	    "input=${1:-$here/%s}\n"
	    "case $input in /*) ;; *) input=$PWD/$input ;; esac\n",
	    crash_line(c->signature, sig), a->entry->target->name, crash_line(c->crash_type, what),
	    a->has_minimized ? "minimized" : "input");
	buf_puts(&b, "crash=");
	shell_quote(sig, &b);
	buf_puts(&b, "\ntarget=");
	shell_quote(a->entry->target->name, &b);
	buf_printf(&b, "\nmemory=%" PRIu64 "\n%s\nrun() {\n",
		   a->entry->cfg.memory + a->entry->cfg.symbolizer_memory, script_container);
	r = byhand_print(&hand, &b, e);
	buf_printf(&b, "}\n%s", script_end);
	if (r == 0)
		r = buf_check(&b, e);
	return r < 0 ? r : crash_export_add(a, p, "reproduce.sh", 0755, buf_slice(&b), e);
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void add_os(struct buf *b)
{
	_autofree_ char *text = NULL;
	struct slice all, line;
	struct utsname u;
	struct err none;
	size_t n = 0;

	if (uname(&u) == 0)
		buf_printf(b, "kernel: %s %s %s\n", u.sysname, u.release, u.machine);
	if (fs_read(AT_FDCWD, "/etc/os-release", 65536, &text, &n, &none) < 0)
		return;
	all = (struct slice){text, n};
	while (scan_line(&all, &line))
		if (scan_lit(&line, SLICE("PRETTY_NAME=")))
			buf_printf(b, "os: %.*s\n", (int)line.n, line.p);
}

/* The value of a line of os-release(5), without quotes. */
static bool os_value(struct slice text, const char *name, struct slice *ret)
{
	struct slice line;

	while (scan_line(&text, &line)) {
		if (!scan_lit(&line, slice_of(name)) || !scan_lit(&line, SLICE("=")))
			continue;
		(void)scan_lit(&line, SLICE("\""));
		while (line.n > 0 && (line.p[line.n - 1] == '"' || line.p[line.n - 1] == '\r'))
			line.n--;
		*ret = line;
		return line.n > 0 && line.n < 40;
	}
	return false;
}

/* The system that the target ran on, with a symbolizer.  Of other systems than Debian and Ubuntu
 * the names of image and packages are not known: they get no Dockerfile. */
static int dockerfile(const struct export *a, struct pack *p, struct err *e)
{
	const char *root = config_rootfs(a->session.common.config);
	_autofree_ char *path = xasprintf("%s/etc/os-release", root ? root : "");
	_autofree_ char *text = NULL;
	_autobuf_ struct buf b = BUF_INIT(BYHAND_MAX);
	struct slice all = {"", 0}, id, version;
	struct err none;
	bool debian;

	if (fs_read(AT_FDCWD, path, 65536, &text, &all.n, &none) < 0)
		return 0;
	all.p = text;
	if (!os_value(all, "ID", &id))
		return 0;
	debian = slice_eq(id, SLICE("debian"));
	if ((!debian && !slice_eq(id, SLICE("ubuntu"))) ||
	    !os_value(all, debian ? "VERSION_CODENAME" : "VERSION_ID", &version))
		return 0;
	buf_printf(&b,
		   "# For reproduce.sh.  If the target needs libraries that are not in out/, add "
		   "their packages.\n"
		   "FROM %.*s:%.*s%s\n"
		   "RUN apt-get update && apt-get install --yes --no-install-recommends llvm && "
		   "rm -rf /var/lib/apt/lists/*\n",
		   (int)id.n, id.p, (int)version.n, version.p, debian ? "-slim" : "");
	return crash_export_add(a, p, "Dockerfile", 0644, buf_slice(&b), e);
}

static void crash_export_add_words(struct buf *b, const char *title, const struct strv *v)
{
	buf_printf(b, "%s:\n", title);
	for (size_t i = 0; i < v->n; i++) {
		buf_puts(b, "  ");
		shell_quote(v->v[i], b);
		buf_puts(b, "\n");
	}
}

/* Adds the target's origin in its Bazel workspace. */
static void add_origin(struct buf *b, const struct target *t)
{
	const char *const parts[][2] = {
	    {"label", t->label}, {"corpus", t->corpus}, {"build", t->build}};
	char line[CRASH_LINE];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i][1])
			buf_printf(b, "%s: %s\n", parts[i][0], crash_line(parts[i][1], line));
}

static int environment(const struct export *a, struct pack *p, struct err *e)
{
	const struct target_config *cfg = &a->entry->cfg;
	_autobuf_ struct buf b = BUF_INIT(BYHAND_MAX);
	struct byhand hand = byhand_of(a, a->binary);
	struct engine_cmd cmd = {0};
	int r = byhand_command(&hand, &cmd, e);

	if (r == 0) {
		buf_printf(&b,
			   "fuzzcell: %s\n"
			   "target: %s\n"
			   "engine: %s\n"
			   "cell: memory %llu bytes (the engine's own limit: %llu), %u processes, "
			   "%llu s an input, %u.%03u CPUs\n",
			   FUZZCELL_VERSION, a->entry->target->name, a->entry->target->engine->name,
			   (unsigned long long)cfg->memory, (unsigned long long)cfg->rss_limit,
			   cfg->pids, (unsigned long long)(cfg->input_timeout_us / USEC_PER_SEC),
			   cfg->cpu_milli / 1000, cfg->cpu_milli % 1000);
		if (*a->subject.entry->last_seen.commit)
			buf_printf(&b, "commit: %s\n", a->subject.entry->last_seen.commit);
		add_origin(&b, a->entry->target);
		add_os(&b);
		crash_export_add_words(&b, "command", &cmd.argv);
		crash_export_add_words(&b, "environment", &cmd.env);
		r = buf_check(&b, e);
	}
	if (r == 0)
		r = crash_export_add(a, p, "environment", 0644, buf_slice(&b), e);
	engine_cmd_done(&cmd);
	return r;
}

/* The ledger has the paths of the inputs; the other files are in the vault, if they exist. */
static int inputs(struct export *a, struct pack *p, struct err *e)
{
	const struct known_crash *c = a->subject.entry;
	static const char *const to[] = {
	    [LEDGER_INPUT] = "input", [LEDGER_MINIMIZED] = "minimized"};
	int r = 0;

	for (enum ledger_input i = 0; r == 0 && i < LEDGER_INPUT_COUNT; i++) {
		_autoclose_ int fd = -1;

		if (!*ledger_input_path(c, i))
			continue;
		r = ledger_input_open(a->session.state->dirfd, c, i, &fd, e);
		if (r == 0)
			r = add_fd(a, p, to[i], 0644, fd, e);
	}
	return r;
}

static int papers(const struct export *a, struct pack *p, struct err *e)
{
	static const enum vault_file files[] = {VAULT_REPORT, VAULT_META};
	const struct known_crash *c = a->subject.entry;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		_autofree_ char *text = NULL;
		size_t n;

		r = vault_read(a->session.state->dirfd, slice_of(c->signature), c->fuzzer, files[i],
			       &text, &n, e);
		if (r == -ENOENT)
			r = 0; /* a merged crash may lack the file */
		else if (r == 0)
			r = crash_export_add(a, p, vault_file_name(files[i]), 0644,
					     (struct slice){text, n}, e);
	}
	return r;
}

static int binary(struct export *a, struct pack *p, struct err *e)
{
	/* The archive is for others, so only files that the target may read are packed. */
	_autorights_ struct rights_back back = {0};
	const struct target *t = a->entry->target;
	char path[PACK_NAME_MAX + 1], prefix[PACK_NAME_MAX + 1];
	struct rights both, anywhere = t->rights;
	int r;

	anywhere.tree_ino = 0; /* as setup.c does */
	r = rights_of_named(&anywhere, t->binary, &both, e);

	if (r == 0)
		r = rights_take(&both, &back, e);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), DIR_OUT "/%.900s", a->binary);
	snprintf(prefix, sizeof(prefix), "%s/" DIR_OUT, a->name);
	r = crash_export_add_file(a, p, path, 0755, t->binary, e);
	return r < 0 ? r : sidefiles_pack(&a->session.common.targets, t, prefix, p, &a->side, e);
}

static int crash_export_fill(struct export *a, int fd, struct err *e)
{
	struct pack *p = NULL;
	int r = pack_open(fd, &p, e);

	if (r == 0)
		r = crash_export_script(a, p, e);
	if (r == 0)
		r = crash_export_expected(a, p, e);
	if (r == 0)
		r = environment(a, p, e);
	if (r == 0)
		r = dockerfile(a, p, e);
	if (r == 0)
		r = inputs(a, p, e);
	if (r == 0)
		r = papers(a, p, e);
	if (r == 0)
		r = binary(a, p, e);
	if (r == 0)
		r = pack_close(p, e);
	pack_free(p);
	return r;
}

/* --- where it goes -------------------------------------------------------- */

/* Writes the whole archive or none. */
static int write_archive(struct export *a, const char *path, struct err *e)
{
	_autofree_ char *tmp = xasprintf("%s.new", path);
	_autoclose_ int fd = -1;
	int r =
	    fs_open_file(AT_FDCWD, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644, &fd, e);

	if (r < 0)
		return r;
	r = crash_export_fill(a, fd, e);
	if (r == 0 && sys_fsync(fd) < 0)
		r = err_sys(e, "fsync '%s'", tmp);
	if (r == 0 && sys_renameat(AT_FDCWD, tmp, path) < 0)
		r = err_sys(e, "rename '%s' to '%s'", tmp, path);
	if (r < 0)
		(void)sys_unlinkat(AT_FDCWD, tmp, 0); /* an incomplete archive is useless */
	return r < 0 ? err_wrap(e, "archive '%s'", path) : 0;
}

static int crash_export_name_all(struct export *a, struct err *e)
{
	const struct target *t = a->entry->target;
	size_t n = t->dir ? strlen(t->dir) : 0;
	const char *slash = strrchr(t->binary, '/');
	char sig[VAULT_NAME];
	int r = vault_name(slice_of(a->subject.crash->signature), sig, e);

	if (r < 0)
		return r;
	snprintf(a->name, sizeof(a->name), "%.128s-%.150s", t->name, sig);
	if (n > 0 && strncmp(t->binary, t->dir, n) == 0 && t->binary[n] == '/')
		a->binary = xstrdup(t->binary + n + 1);
	else
		a->binary = xstrdup(slash ? slash + 1 : t->binary);
	a->has_minimized = *a->subject.entry->minimized;
	return 0;
}

static json_t *crash_export_answer(const struct export *a, const char *path)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:I}", "crash",
			 answer_text(a->subject.crash->signature), "target",
			 answer_text(a->subject.target), "output", answer_text(path), "directory",
			 answer_text(a->name), "left_out", (json_int_t)a->side.left_out);
}

static int crash_export_export(struct export *a, json_t **ret)
{
	_autofree_ char *path = NULL;
	char line[CRASH_LINE];
	struct err e;

	a->entry = &a->session.plan.v[0];
	if (crash_export_name_all(a, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	path = a->output ? xstrdup(a->output) : xasprintf("%s.tar.gz", a->name);
	/* Checks the inputs before writing the archive. */
	if (ledger_input_check_all(a->session.state->dirfd, a->subject.entry, &e) < 0)
		return fail(EXIT_USAGE, "crash %s: %s",
			    crash_line(a->subject.crash->signature, line), e.msg);
	if (write_archive(a, path, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	printf("%s: %s/reproduce.sh runs it\n", crash_line(path, line), a->name);
	if (a->side.left_out)
		printf("left out: %llu large files beside the binary, as %s\n",
		       (unsigned long long)a->side.left_out, a->side.largest);
	*ret = crash_export_answer(a, path);
	return EXIT_DONE;
}

static bool crash_export_ends_with(const char *text, const char *tail)
{
	size_t n = strlen(text), k = strlen(tail);

	return n > k && strcmp(text + n - k, tail) == 0;
}

/* The output is a gzipped tar; a name with another suffix is refused. */
static int check_output(const char *path)
{
	char shown[CRASH_LINE];
	struct stat st;

	if (!path)
		return EXIT_DONE;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return fail(EXIT_USAGE,
			    "crash export: '%s' is a directory: give a file (.tar.gz, .tgz)",
			    crash_line(path, shown));
	if (!crash_export_ends_with(path, ".tar.gz") && !crash_export_ends_with(path, ".tgz"))
		return fail(EXIT_USAGE, "crash export: '%s' is not written (.tar.gz and .tgz are)",
			    crash_line(path, shown));
	return EXIT_DONE;
}

int command_crash_export(int argc, char **argv)
{
	struct export a = {0};
	int at = options_parse(argc, argv, "crash export [OPTION]... CRASH", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash export: give one crash (fuzzcell crash list)");
	begun = answer_begin(a.json);
	r = check_output(a.output);
	if (r == EXIT_DONE)
		r = crash_subject(&a.session, argv[at], a.target, false, &a.subject);
	if (r == EXIT_DONE && !a.subject.crash)
		r = fail(EXIT_USAGE, "crash export: give a crash, not a file");
	if (r == EXIT_DONE)
		r = session_read(&a.session);
	if (r == EXIT_DONE)
		r = crash_export_export(&a, &j);
	free(a.binary);
	crash_subject_done(&a.subject);
	session_close(&a.session);
	return answer_end(begun, j, r);
}
