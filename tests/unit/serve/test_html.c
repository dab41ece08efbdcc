/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/serve/internal.h"
#include "runner/serve/page/html.h"

#include <errno.h>

static void text_is(struct slice text, const char *want)
{
	_autobuf_ struct buf b = BUF_INIT(1000);
	struct err e;
	struct html h = html_on(&b, &e);

	html_textn(&h, text);
	assert_int_equal(html_done(&h), 0);
	assert_string_equal(buf_str(&b), want);
}

static void test_text(void **state)
{
	(void)state;
	text_is(SLICE(""), "");
	text_is(SLICE("plain, 1 2\n\t3"), "plain, 1 2\n\t3");
	text_is(SLICE("<script>alert('x' & \"y\")</script>"),
		"&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;");
	text_is(SLICE("&lt;"), "&amp;lt;");
	text_is(SLICE("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
	text_is(SLICE("a\xff\xc3z"), "a\\xff\\xc3z");
	text_is(SLICE("\xc0\xbc"), "\\xc0\\xbc"); /* '<' in two bytes */
	text_is(SLICE("\x1b[31m\a\0"), "\\x1b[31m\\x07\\x00");
	text_is(SLICE("\xe2\x80\xae"
		      "exe"),
		"\\u202eexe");
	text_is(SLICE("\xef\xbb\xbf"), "\\ufeff");
}

static void test_elements(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(1000);
	struct err e;
	struct html h = html_on(&b, &e);

	(void)state;
	html_doctype(&h);
	html_begin(&h, "p", "a\"><script>");
	html_attr(&h, "title", "<&'\">\n");
	html_attr(&h, "id", NULL);
	html_attrf(&h, "data-n", "%d", 7);
	html_flag(&h, "hidden");
	html_text(&h, "x");
	html_text(&h, NULL);
	html_open(&h, "br");
	html_element(&h, "b", NULL, "<b>");
	html_textf(&h, "%s", "&");
	html_close(&h);
	assert_int_equal(html_done(&h), 0);
	assert_string_equal(buf_str(&b),
			    "<!DOCTYPE html>\n<p class=\"a&quot;&gt;&lt;script&gt;\" "
			    "title=\"&lt;&amp;&#39;&quot;&gt;\n\" data-n=\"7\" hidden>x<br>"
			    "<b>&lt;b&gt;</b>&amp;</p>");
}

static void href_is(const char *address, const char *want)
{
	_autobuf_ struct buf b = BUF_INIT(1000), expected = BUF_INIT(1000);
	struct err e;
	struct html h = html_on(&b, &e);

	html_open(&h, "a");
	html_attr(&h, "href", address);
	html_close(&h);
	assert_int_equal(html_done(&h), 0);
	buf_printf(&expected, "<a href=\"%s\"></a>", want);
	assert_string_equal(buf_str(&b), buf_str(&expected));
}

static void test_addresses(void **state)
{
	(void)state;
	href_is("https://example.org/a?b=c", "https://example.org/a?b=c");
	href_is("http://example.org/", "http://example.org/");
	href_is("targets/a%3Ab.html", "targets/a%3Ab.html");
	href_is("./a:b", "./a:b");
	href_is("#main", "#main");
	href_is("javascript:alert(1)", "#");
	href_is("JaVaScRiPt:alert(1)", "#");
	href_is(" javascript:alert(1)", "#");
	href_is("java\tscript:alert(1)", "#");
	href_is("data:text/html,x", "#");
	href_is("vbscript:x", "#");
	href_is("//example.org/", "#");
	href_is("\\\\example.org", "#");
	href_is("https://", "#");
}

static void test_root(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(1000);
	struct err e;
	struct html h = html_on(&b, &e);

	(void)state;
	html_open(&h, "a");
	html_href(&h, "../", "targets/x%20y.html");
	html_open(&h, "a");
	html_href(&h, "../", "javascript:alert(1)");
	html_open(&h, "a");
	html_href(&h, "", "https://example.org/");
	html_open(&h, "a");
	html_href(&h, "../", "/etc/passwd");
	html_open(&h, "a");
	html_href(&h, "../", NULL);
	for (int i = 0; i < 5; i++)
		html_close(&h);
	assert_int_equal(html_done(&h), 0);
	assert_string_equal(buf_str(&b), "<a href=\"../targets/x%20y.html\"><a href=\"#\">"
					 "<a href=\"#\"><a href=\"#\"><a></a></a></a></a></a>");
}

/* A mistake of our own code is an error, never markup. */
enum wrong {
	WRONG_NAME,
	WRONG_HANDLER,
	WRONG_UPPER,
	WRONG_STYLE,
	WRONG_ATTRIBUTE,
	WRONG_LATE,
	WRONG_SCRIPT,
	WRONG_INSIDE,
	WRONG_CLOSE,
	WRONG_OPEN,
	WRONG_DEEP,
	WRONG_COUNT,
};

static void wrong_attribute(struct html *h, enum wrong w)
{
	if (w == WRONG_HANDLER)
		html_attr(h, "onclick", "x");
	if (w == WRONG_UPPER)
		html_attr(h, "ONclick", "x");
	if (w == WRONG_STYLE)
		html_attr(h, "style", "x");
	if (w == WRONG_ATTRIBUTE)
		html_flag(h, "a=b c");
}

static void wrong_content(struct html *h, enum wrong w)
{
	if (w == WRONG_LATE || w == WRONG_SCRIPT)
		html_text(h, "x");
	if (w == WRONG_LATE)
		html_attr(h, "id", "x");
	if (w == WRONG_INSIDE) {
		html_open(h, "style");
		html_element(h, "b", NULL, "x");
	}
	for (int i = 0; w == WRONG_DEEP && i < 100; i++)
		html_open(h, "p");
}

static void do_wrong(struct html *h, enum wrong w)
{
	static const char *const names[WRONG_COUNT] = {
	    [WRONG_NAME] = "p onclick=x", [WRONG_SCRIPT] = "SCRIPT"};

	html_open(h, names[w] ? names[w] : "p");
	wrong_attribute(h, w);
	wrong_content(h, w);
	if (w != WRONG_OPEN)
		html_close(h);
	if (w == WRONG_CLOSE)
		html_close(h);
}

static void test_wrong(void **state)
{
	(void)state;
	for (enum wrong w = 0; w < WRONG_COUNT; w++) {
		_autobuf_ struct buf b = BUF_INIT(1000);
		struct err e;
		struct html h = html_on(&b, &e);

		do_wrong(&h, w);
		if (html_done(&h) != -EINVAL)
			fail_msg("wrong %d: %s", (int)w, buf_str(&b));
		assert_int_equal(h.r, -EINVAL);
		assert_null(strstr(buf_str(&b), "onclick"));
	}
}

/* The first error is kept, and nothing is written after it. */
static void test_full(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(8);
	struct err e;
	struct html h = html_on(&b, &e);

	(void)state;
	html_element(&h, "p", NULL, "12345678");
	html_element(&h, "p", NULL, "");
	assert_int_equal(html_done(&h), -EFBIG);
	assert_string_equal(e.msg, "more than 8 bytes");
	assert_string_equal(buf_str(&b), "<p>");
}

static void test_url_part(void **state)
{
	_autobuf_ struct buf b = BUF_INIT(1000);

	(void)state;
	html_url_part(&b, SLICE("a-Z_0.9~/%?#&\"<\xff\0"));
	assert_string_equal(buf_str(&b), "a-Z_0.9~%2F%25%3F%23%26%22%3C%FF%00");
}

static void test_url_next(void **state)
{
	struct slice in = SLICE("a%3C%3c%C3\xc3%00");
	static const int want[] = {'a', '<', '<', 0xc3, 0xc3, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(html_url_next(&in), want[i]);
	assert_int_equal(in.n, 0);
	for (size_t i = 0; i < 4; i++) {
		static const char *const bad[] = {"%", "%3", "%3g", "%g3"};

		in = slice_of(bad[i]);
		assert_int_equal(html_url_next(&in), -1);
		assert_int_equal(in.n, strlen(bad[i]));
	}
}

static void test_assets(void **state)
{
	const struct serve_asset *a;
	size_t n = 0;
	bool licence = false;

	(void)state;
	for (; (a = serve_asset_at(n)); n++) {
		assert_true(a->bytes.n > 100);
		assert_memory_equal(a->path, "assets/", 7);
		assert_int_equal(a->bytes.p[a->bytes.n], '\0');
		assert_non_null(strchr(a->type, '/'));
		licence |= strstr(a->path, "LICENSE") != NULL &&
			   memcmp(a->bytes.p, "The MIT License", 15) == 0;
	}
	assert_true(n >= 6);
	assert_true(licence);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_text),      cmocka_unit_test(test_elements),
    cmocka_unit_test(test_addresses), cmocka_unit_test(test_root),
    cmocka_unit_test(test_wrong),     cmocka_unit_test(test_full),
    cmocka_unit_test(test_url_part),  cmocka_unit_test(test_url_next),
    cmocka_unit_test(test_assets),
};

UNIT_MAIN(tests)
