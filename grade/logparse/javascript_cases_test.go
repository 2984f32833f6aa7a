package logparse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// javaScriptCases are results of the reference's Python for odd logs, from release 5.0.2 unless
// rules says otherwise.
var javaScriptCases = []struct {
	name, parser, id, version string
	rules                     Rules
	log                       string
	want                      Statuses
	fails                     bool
}{
	{
		name: "a time is cut off a name", parser: "jest",
		log:  "✓ adds (5 ms)\n✕ divides (12ms)\n○ skipped later",
		want: Statuses{"adds": Passed, "divides": Failed, "skipped later": Skipped},
	},
	{
		name: "a time may have other digits and spaces", parser: "jest",
		log:  "✓ a (٣\u2003ms)\n✓\u00a0b\u3000(1s)",
		want: Statuses{"a": Passed, "b": Passed},
	},
	{
		name: "a name is trimmed", parser: "jest",
		log:  "✓   far   (1 ms)",
		want: Statuses{"far": Passed},
	},
	{
		name: "a name was not trimmed", parser: "jest", rules: V4,
		log:  "✓   far   (1 ms)",
		want: Statuses{"  far  ": Passed},
	},
	{
		name: "a time alone is a name", parser: "jest",
		log:  "✓ (5 ms)\n✓  (6 ms)",
		want: Statuses{"(5 ms)": Passed, "(6 ms)": Passed},
	},
	{
		name: "only a time at the end is cut off", parser: "jest",
		log:  "✓ a (5 ms) b\n✓ c (5 min)\n✓ d (ms)",
		want: Statuses{"a (5 ms) b": Passed, "c (5 min)": Passed, "d (ms)": Passed},
	},
	{
		name: "a mark needs a space", parser: "jest",
		log:  "✓a\n✓\n x ✓ b",
		want: Statuses{},
	},
	{
		name: "a line end of Windows goes away", parser: "jest",
		log:  "  ✓ a (5 ms)\r\n  ✕ b\r",
		want: Statuses{"a": Passed, "b": Failed},
	},
	{
		name: "the same name again has the later status", parser: "jest",
		log:  "✓ a\n✕ a\n✓ b\n✓ a",
		want: Statuses{"a": Passed, "b": Passed},
	},
	{
		name: "brackets and one space", parser: "jest_json",
		log:  "[PASSED] a b \n[FAILED]\u00a0 c\n[PASSED]\n [FAILED] d\n[SKIPPED] e\n[PASSED]f",
		want: Statuses{"a b": Passed, " c": Failed, "d": Failed},
	},
	{
		name: "the id selects a parser", parser: "immutable_js", id: "immutable-js__immutable-js-2006",
		log:  "✓ a (1 ms)\n[PASSED] b",
		want: Statuses{"a": Passed},
	},
	{
		name: "the other id", parser: "immutable_js", id: "immutable-js__immutable-js-2005",
		log:  "✓ a (1 ms)\n[PASSED] b",
		want: Statuses{"b": Passed},
	},
	{
		name: "an id without a hyphen", parser: "immutable_js", id: "2006",
		log:  "✓ a",
		want: Statuses{"a": Passed},
	},
	{
		name: "an unknown id", parser: "immutable_js", id: "immutable-js__immutable-js-2007",
		log:   "✓ a",
		fails: true,
	},
	{
		name: "times without a unit, and a skipped test", parser: "vitest",
		log:  "✓ a > b 12ms\n× c 3\n↓ d [skipped]\n✓ e 4 m\n✓ f  5 s",
		want: Statuses{"a > b": Passed, "c": Failed, "d": Skipped, "e": Passed, "f ": Passed},
	},
	{
		name: "a time alone is a name", parser: "vitest",
		log:  "✓ 12ms\n✓  12ms\n↓ [skipped]",
		want: Statuses{"12ms": Passed, " 12ms": Passed, "[skipped]": Skipped},
	},
	{
		name: "a number within a word is not a time", parser: "vitest",
		log:  "✓ a12ms\n✓ b 1 2\n✓ c 1sm",
		want: Statuses{"a12ms": Passed, "b 1": Passed, "c 1sm": Passed},
	},
	{
		name: "numbers and names", parser: "tap",
		log:  "ok 1 a\nnot ok 2 - b # time=1ms\n  ok 3 c \nok  4 d\nok ٤ e\nnot  ok 5 f\nok 6",
		want: Statuses{"a": Passed, "- b # time=1ms": Failed, "c": Passed, "e": Passed},
	},
	{
		name: "suites by indent", parser: "karma",
		log:  "Starting browser\n  A\n    B\n      ✔ one (1ms)\n      ✖ two\n  C\n    ✔ three\nSUMMARY:\n    ✔ four",
		want: Statuses{"A > B > one (1ms)": Passed, "A > B > two": Failed, "A > three": Passed},
	},
	{
		name: "nothing counts before the browser starts", parser: "karma",
		log:  "  A\n  ✔ zero\nStarting browser\n  B\n  ✔ one",
		want: Statuses{"B > one": Passed},
	},
	{
		name: "one space is not an indent", parser: "karma",
		log:  "Starting browser\n A\n ✔ one\n  B\n  ✔ two\n   C\n   ✔ three",
		want: Statuses{"one": Passed, "B > two": Passed, "B > C > three": Passed},
	},
	{
		name: "blank lines enter suites too", parser: "karma",
		log:  "Starting browser\n   \n    ✔ one\n✔ two\n✔three\n  ✔four\n     ✔ five",
		want: Statuses{" > one": Passed, " > two": Passed, "five": Passed},
	},
	{
		name: "one suite too many is left", parser: "karma",
		log:   "Starting browser\n    A\n   B\n  C\n",
		fails: true,
	},
	{
		name: "suites by indent, with and without times", parser: "calypso",
		log:  "+ ./node_modules/.bin/jest x\n  suite\n    sub\n      ✓ one (12ms)\n      ✕ two\n    next\n      ✓ three \n ./node_modules/.bin/jest \n    ✓ four",
		want: Statuses{"suite - sub - one": Passed, "suite - sub - two": Failed, "suite - next - three": Passed, "suite - next - four": Passed},
	},
	{
		name: "a suite ends a line earlier", parser: "calypso",
		log:  " ./node_modules/.bin/jest \n  a\n    b\n   c\n     ✓ t\n  \n    ✓ u",
		want: Statuses{"a - c - t": Passed, "- u": Passed},
	},
	{
		name: "a test without a suite", parser: "calypso",
		log:  " ./node_modules/.bin/jest \n   ✓ one \n",
		want: Statuses{"- one": Passed},
	},
	{
		name: "the details of failures are not read", parser: "calypso",
		log:  " ./node_modules/.bin/jest \n  ✓ a\n  ● b\n  ✓ c\n ./node_modules/.bin/jest \n  ✓ d\nTest Suites: 1\n  ✓ e",
		want: Statuses{"- a": Passed, "- d": Passed},
	},
	{
		name: "nothing counts before the command", parser: "calypso",
		log:  "  ✓ a\n ./node_modules/.bin/jest ",
		want: Statuses{},
	},
	{
		name: "a test that is not indented", parser: "calypso",
		log:   " ./node_modules/.bin/jest \n✓ one",
		fails: true,
	},
	{
		name: "a mark without a space", parser: "calypso",
		log:   " ./node_modules/.bin/jest \n  ✓one",
		fails: true,
	},
	{
		name: "a time before the end", parser: "calypso",
		log:   " ./node_modules/.bin/jest \n  ✓ one (5ms) x",
		fails: true,
	},
	{
		name: "a time in the form of other parsers", parser: "calypso",
		log:  " ./node_modules/.bin/jest \n  ✓ one (5 ms)\n  ✓ two (1ms) (2ms)",
		want: Statuses{"- one (5 ms)": Passed, "- two (1ms)": Passed},
	},
	{
		name: "files and their times", parser: "carbon",
		log:  "PASS a/b.js (5.1 s)\nFAIL c.js (12ms)\nPASS d.js (5.1s)\nPASS e.js\n PASS f.js\nPASS\ng.js\nPASSh.js",
		want: Statuses{"a/b.js": Passed, "c.js": Failed, "d.js": Passed, "e.js": Passed},
	},
	{
		name: "milliseconds anywhere go before seconds", parser: "carbon",
		log:  "PASS a (1ms) b (2 s)\nPASS c (2 s) d (3s)\nPASS e (1ms) f (2ms) g\nPASS  (3s)",
		want: Statuses{"a": Passed, "c": Passed, "e (1ms) f": Passed, "": Passed},
	},
	{
		name: "what is a time", parser: "carbon",
		log:  "PASS a (..ms)\nPASS b (٣ms)\nPASS c(1ms)\nPASS d (1 ms)\nFAIL e\u00a0(1\u00a0s)\nFAIL f (1.5s) \r",
		want: Statuses{"a": Passed, "b": Passed, "c(1ms)": Passed, "d (1 ms)": Passed, "e": Failed, "f": Failed},
	},
	{
		name: "the same for react-pdf", parser: "react_pdf",
		log:  "PASS a (1ms) b (2 s)\nFAIL c (1.5 s)",
		want: Statuses{"a": Passed, "c": Failed},
	},
	{
		name: "a time at the end of a file", parser: "grommet",
		log:  "PASS a.js (5.1 s)\nFAIL b.js (1ms)\nPASS c.js (1 ms)  \nPASS d.js (1s) x\nFAIL e.js\nPASS e.js",
		want: Statuses{"b.js": Failed, "e.js": Passed, "a.js": Passed, "c.js": Passed, "d.js (1s) x": Passed},
	},
	{
		name: "a word alone takes the next line", parser: "grommet",
		log:  "FAIL\nPASS a\nPASS\n\nFAIL b\nx FAIL c\nPASS",
		want: Statuses{"PASS a": Failed, "b": Failed, "a": Passed, "": Passed},
	},
	{
		name: "the version selects mocha", parser: "lighthouse", version: "10.0",
		log:  "running 3 test files\n  A\n    ✔ one (12ms)\n    ✔ two (3s)\n    B\n      1) three (5mms) x\n  ✔ four\n\n  5 passing (1s)\n  1) three",
		want: Statuses{"one": Passed, "two (3s)": Passed, "B - three": Failed, "B - four": Passed},
	},
	{
		name: "spaces of other kinds", parser: "lighthouse", version: "9.5",
		log:  "running\u00a0٣\ntest\tfiles\n\n  A\n \u2003✔\u00a0one\n    ٣)\tten\n 1\npassing\n ✔ x running 1 test files ✔ two",
		want: Statuses{"one": Passed, "ten": Failed, "two": Passed},
	},
	{
		name: "the version selects jest", parser: "lighthouse", version: "5.0",
		log:  "PASS a.js (5 s)\nFAIL b.js",
		want: Statuses{"a.js": Passed, "b.js": Failed},
	},
	{
		name: "the version selects JSON", parser: "lighthouse", version: "2.3",
		log:  "x./node_modules/.bin/mocha --reporter json\n{\"passes\": [\n{\"fullTitle\": \"a \\\"b\\\"\",\n},{\"fullTitle\":\n\"c\",\n}],\n\"failures\": [\n{\"fullTitle\": \"d\",\n\"x\": []\n],\n\"fullTitle\": \"e\",\n]",
		want: Statuses{"a \\\"b\\\"": Passed, "c": Passed, "d": Failed, "e": Passed},
	},
	{
		name: "a title has to end its line", parser: "lighthouse", version: "2.3",
		log:  "./node_modules/.bin/mocha --reporter json\"passes\": [\"fullTitle\": \"a\", \"fullTitle\": \"b\",\n\"fullTitle\":\"c\",\n\"fullTitle\": \"d\"\n\"fullTitle\": \"e\",]",
		want: Statuses{"a\", \"fullTitle\": \"b": Failed},
	},
	{
		name: "a version that is not a number", parser: "lighthouse", version: "v3",
		log:   "PASS a",
		fails: true,
	},
	{
		name: "NaN is less than 3", parser: "lighthouse", version: "nan",
		log:  "PASS a",
		want: Statuses{},
	},
	{
		name: "the innermost suite", parser: "highlightjs",
		log:  "\n  suite\n    sub\n      ✓ one (12ms)\n      ✔ two (1ms) (2ms)x\n    1) three\n  other\n12) four\n✓ five\n\n  4 passing (1s)\n  1) suite",
		want: Statuses{"sub.one": Passed, "sub.two  x": Passed, "sub.three": Failed, "other.four": Failed, "other.five": Passed},
	},
	{
		name: "what is a summary", parser: "highlightjs",
		log:  "  a\n 1 passingx\n  ✓ b",
		want: Statuses{},
	},
	{
		name: "what is not a summary", parser: "highlightjs",
		log:  "3 passing\nx 3 passing\n  passing\n\t٣ passing\n  ✓ b",
		want: Statuses{},
	},
	{
		name: "a suite without a name", parser: "highlightjs",
		log:  "✓ a\n   \n✓ b",
		want: Statuses{"a": Passed, ".b": Passed},
	},
	{
		name: "numbers at the start of a line", parser: "marked",
		log:  "1) a \n٣)\u00a0b\n 2) c\n3)d\n4) ",
		want: Statuses{"a": Failed, "b": Failed, "": Failed},
	},
	{
		name: "a name ends before the line with the error", parser: "eslint",
		log:  "\n  1) A\n       b  c:\n\n      AssertionError: x\n  2) D\n     TypeError: y Error z\n",
		want: Statuses{"A b c:": Failed, "D": Failed},
	},
	{
		name: "a number needs two spaces", parser: "eslint",
		log:  " 1) a Error\n\u2003\n3) b\n Error\n  4)Error 5 Error",
		want: Statuses{"b": Failed, "Error": Failed},
	},
	{
		name: "no error follows", parser: "eslint",
		log:  "  1) a\n b",
		want: Statuses{},
	},
	{
		name: "an error on the same line as the number", parser: "eslint",
		log:  "\n  1) a b c Error\n  2)\n\n  Error  3) x Error",
		want: Statuses{"": Failed},
	},
	{
		name: "three browsers", parser: "bpmn_js",
		log:  "2KPhantomJS 2.1.1 (Linux 0.0.0) a b FAILED\n2KPhantomJS 2.1.1 (Linux x86_64) c FAILED\nChrome Headless 1.2 (Linux x86_64) d FAILED\nHeadlessChrome 80.0 (Linux 0.0.0) e FAILED\n",
		want: Statuses{"a b ": Failed, "c ": Failed, "d ": Failed, "e ": Failed},
	},
	{
		name: "the last line has to end", parser: "bpmn_js",
		log:  "HeadlessChrome 80.0 (Linux 0.0.0) a FAILED",
		want: Statuses{},
	},
	{
		name: "the last system that fits counts", parser: "bpmn_js",
		log:  "Chrome Headless a (Linux x86_64) b (Linux x86_64) c FAILED\nChrome Headless (Linux x86_64) d FAILED\nChrome Headless x\n(Linux\nx86_64)\ne FAILED\n",
		want: Statuses{"c ": Failed, "e ": Failed},
	},
	{
		name: "a name on the next line", parser: "bpmn_js",
		log:  "HeadlessChrome\n80.0\n(Linux\n0)\na FAILED\n",
		want: Statuses{"a ": Failed},
	},
	{
		name: "four forms", parser: "openlayers",
		log:  "Chrome Headless 1.2 (Linux x86_64) a  b FAILED\nChrome 1.2 (Linux 0.0) c FAILED\n\n  1) d\n   e:\n   Error: x\ncase f: mismatch y\n",
		want: Statuses{"a b": Failed, "c": Failed, "d e:": Failed, "f": Failed},
	},
	{
		name: "white space can be a line end", parser: "openlayers",
		log:  "Chrome Headless 1 (Linux x) a\nFAILED\nChrome 1 (Linux x)\nb FAILED\n\n\n\n1) c Error:\ncase\nd:\nmismatch\n",
		want: Statuses{"a": Failed, "b": Failed, "c": Failed, "d": Failed},
	},
	{
		name: "what a system looks like", parser: "openlayers",
		log:  "Chrome 1 (Linux )) a FAILED\nChrome 1 (Linux )) b FAILED\nChrome 1 (Linux x)y) c FAILED\nChrome 1 (Linux x y) d FAILED\n",
		want: Statuses{"a": Failed, "b": Failed, "c": Failed},
	},
	{
		name: "a number needs the start of a line", parser: "openlayers",
		log:  "x  1) a Error:\n   2) b Error:\n  3) c Error:\nTypeError:",
		want: Statuses{"c": Failed},
	},
	{
		name: "the longest case", parser: "openlayers",
		log:  "case a: mismatch: mismatch\n case b: mismatch\ncase c:mismatch",
		want: Statuses{"a: mismatch": Failed},
	},
	{
		name: "a browser, a system, a name", parser: "chart_js",
		log:  "Chrome 80.0 (Linux 0.0) a b FAILED\n\x1b[31mChrome 1 (x) c FAILED\x1b[39m\nChrome 1 (x) d FAILED\nChrome 1 (x) e FAILED ",
		want: Statuses{"a b ": Failed, "c ": Failed, "d ": Failed},
	},
	{
		name: "the first end of a system", parser: "chart_js",
		log:  "Chrome 1 (a) b) c FAILED\nChrome 1 ()) d FAILED\nChrome 1 () e FAILED\nChrome 1 (x)FAILED\nChrome 1 (x) FAILED FAILED",
		want: Statuses{"b) c ": Failed, "d ": Failed, "FAILED ": Failed},
	},
	{
		name: "only the first space can be a line end", parser: "chart_js",
		log:  "Chrome\n1 (x) a FAILED\nChrome 1\n(x) b FAILED\nChrome 1 (x)\rc FAILED",
		want: Statuses{"a ": Failed},
	},
	{
		name: "the first browser that fits", parser: "chart_js",
		log:  "Chrome 1 Chrome 2 (Chrome 3 (x) a FAILED\n",
		want: Statuses{"a ": Failed},
	},
	{
		name: "lines of growing indent", parser: "p5js",
		log:  "  1) A\n       b\n         c:\n     Error: x\n",
		want: Statuses{"A:b:c": Failed},
	},
	{
		name: "lines of equal indent", parser: "p5js",
		log:  "  1) A\n     b\n     c:\n  2) D: e\n3)F:\n",
		want: Statuses{"D": Failed},
	},
	{
		name: "JSON goes away", parser: "p5js",
		log:  "x {\n  1) A:\n}\n[\n  2) B:\n]\n{ 3) C: }\n[ 4) D: ]\n  5) E\n{\"a\": 1}\n     f:\n} \n ]\n 6) G:",
		want: Statuses{"E:f": Failed, "G": Failed},
	},
	{
		name: "a colon may be 1000 characters away", parser: "p5js",
		log:  "  1) " + strings.Repeat("é", 999) + ":\n  2) " + strings.Repeat("x", 1000) + ":\n  3) a:",
		want: Statuses{strings.Repeat("é", 999): Failed, "a": Failed},
	},
	{
		name: "tags go away up to the first that closes", parser: "p5js",
		log:  " 1) a<b>c</b>d</b>e<b>f:",
		want: Statuses{"ad</b>e<b>f": Failed},
	},
	{
		name: "as many tags stay as are not closed", parser: "p5js",
		log:  " 1) <a>x<a>y<a>z</a>w</a>v:",
		want: Statuses{"<a>v": Failed},
	},
	{
		name: "tags of other names do not matter", parser: "p5js",
		log:  " 1) <a><b></a></b><c>:",
		want: Statuses{"</b><c>": Failed},
	},
	{
		name: "a removed block makes new tags", parser: "p5js",
		log:  " 1) x<a>y</<b></b>a>z:\n 2) x<<b></b>a>y</a>z:",
		want: Statuses{"xz": Failed},
	},
	{
		name: "a new tag closes the first of several", parser: "p5js",
		log:  " 1) p<a>q<a>r<c>s<a>t</<b></b>a>u</<b></b>a>v:",
		want: Statuses{"p<a>v": Failed},
	},
	{
		name: "a tag has a name of word characters", parser: "p5js",
		log:  " 1) <é_٣>x</é_٣><a b>y</a b><>z</>:",
		want: Statuses{"<a b>y</a b><>z</>": Failed},
	},
	{
		name: "colors go away first", parser: "p5js",
		log:  "\x1b[31m  1) a\x1b[0m:\x1bM\n\x1b[9x\n",
		want: Statuses{"a": Failed},
	},
	{
		name: "failures and passes", parser: "prismjs",
		log:  "+ ./node_modules/.bin/mocha tests/run.js --reporter json\n noise {\"stats\": {\"a\": NaN, \"b\": [-Infinity, 1.5e+3]},\"failures\": [{\"fullTitle\": \"a\"}],\"passes\": [{\"fullTitle\": \"b\\n\\ud83d\\ude00\"}, {\"fullTitle\": \"a\"}]} noise",
		want: Statuses{"a": Passed, "b\n😀": Passed},
	},
	{
		name: "the last of equal members", parser: "prismjs",
		log:  "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": 1, \"passes\": [{\"fullTitle\": 1, \"fullTitle\": \"a\"}], \"failures\": []}",
		want: Statuses{"a": Passed},
	},
	{
		name: "an empty object is an empty list", parser: "prismjs",
		log:  "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": {}, \"passes\": \"\"}",
		want: Statuses{},
	},
	{
		name: "two commands", parser: "prismjs",
		log:  "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [], \"passes\": [{\"fullTitle\": \"a\"}]}./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [{\"fullTitle\": \"a\"}], \"passes\": []}",
		want: Statuses{"a": Failed},
	},
	{
		name: "a list that is an object", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": {\"fullTitle\": \"a\"}, \"passes\": []}",
		fails: true,
	},
	{
		name: "a list that is a text", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [], \"passes\": \" \"}",
		fails: true,
	},
	{
		name: "no list", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": []}",
		fails: true,
	},
	{
		name: "a title that is a list", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [{\"fullTitle\": []}], \"passes\": []}",
		fails: true,
	},
	{
		name: "a test without a title", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [{}], \"passes\": []}",
		fails: true,
	},
	{
		name: "no JSON after the command", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json Killed",
		fails: true,
	},
	{
		name: "a control character", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [], \"passes\": [{\"fullTitle\": \"a\tb\"}]}",
		fails: true,
	},
	{
		name: "one comma too many", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [], \"passes\": [],}",
		fails: true,
	},
	{
		name: "a zero before a number", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [], \"passes\": [], \"n\": 01}",
		fails: true,
	},
	{
		name: "a very long number", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json" + `{"failures": [], "passes": [], "n": ` + strings.Repeat("1", 4301) + "}",
		fails: true,
	},
	{
		name: "too deep", parser: "prismjs",
		log:   "./node_modules/.bin/mocha tests/run.js --reporter json" + `{"failures": [], "passes": [], "n": ` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}",
		fails: true,
	},
	{
		name: "tests of two kinds", parser: "quarto_cli",
		log:  "[smoke] > a ... \x1b[32mok\x1b[0m\n[unit] > b ... \x1b[31mFAILED\x1b[39m\n[unit] > c ...\nd ... \x1b[32mok\n",
		want: Statuses{"[smoke] > a": Passed, "[unit] > b": Failed, "[unit] > c": Failed},
	},
	{
		name: "temporary files get numbers", parser: "quarto_cli",
		log:  "[smoke] /tmp/ab/x.qmd ... 32mok\n[smoke] /tmp/cd.qmd /tmp/ef/g /tmp/hi/j ... 32mok\n[unit] /tmp/ab/y /tmp/é_٣.qmd ... 32mok\n[unit] /tmp/cd.qmd/tmp//z ... 32mok",
		want: Statuses{"[smoke] /tmp/0x.qmd": Passed, "[smoke] /tmp/1 /tmp/2g /tmp/2j": Passed, "[unit] /tmp/0y /tmp/3": Passed, "[unit] /tmp/4tmp//z": Passed},
	},
	{
		name: "summaries are not tests", parser: "quarto_cli",
		log:  "[smoke] a (1 passed, 1 failed, 3 steps) ... 31mFAILED\ntest result: [smoke] 31mFAILED\n[unit] 34mINFO x\n[unit] 1 passed, steps ... 32mok",
		want: Statuses{"[unit] 1 passed, steps": Passed},
	},
	{
		name: "nothing counts after the errors", parser: "quarto_cli",
		log:  "[unit] a ... 32mok\n ERRORS \n[unit] b ... 32mok",
		want: Statuses{"[unit] a": Passed},
	},
	{
		name: "a status is not replaced by none", parser: "quarto_cli",
		log:  "[unit] a ... 32mok\n[unit] a ... wait\n[unit] b\nfailures:\n",
		want: Statuses{"[unit] a": Passed, "[unit] b": Failed},
	},
	{
		name: "suites by indent", parser: "next",
		log:  " xvfb-run \nStarting browser Chrome\n  A\n    B\n      ✓ one\n      ✗  two \n  C\n    x ✓ y ✗ three\nTOTAL: 3\n  ✓ four",
		want: Statuses{"A - B - one": Passed, "A - B - two ": Failed, "C - three": Failed},
	},
	{
		name: "suites stay entered", parser: "next",
		log:  " xvfb-run \n  A\n xvfb-run \n  ✓ one\nStarting browser Chrome\n    ✓ two\n  ERROR ✓ x\n inside ✓ y\n  LOG: ✓ z\n✓ three",
		want: Statuses{"A - two": Passed, "A - three": Passed},
	},
	{
		name: "assertions go away", parser: "next",
		log:  " xvfb-run \n  A\n   AssertionError:\n #x ✗ a\n ✗ b\n\n  ✓ c\n  AssertionError: ✗ d\n AssertionError: # ✗ e\n",
		want: Statuses{"A - c": Passed, "A - d": Failed, "A - e": Failed},
	},
	{
		name: "a report for each file", parser: "next", version: "1.27",
		log:  "Running:  a.js  (1 of 2)\n\n\n  suite  \n\n    ✓ one (12ms)\n    1) two \n    ✓ three\n     ✓ four (1ms)\nRunning:  b.js (2 of 2)\n\n\n  other\n    ✓ five (x) (1ms)\n",
		want: Statuses{"suite  : two": Failed, "suite  : one": Passed, "other: five (x)": Passed},
	},
	{
		name: "white space can be a line end", parser: "next", version: "1.27",
		log:  "Running:)\n\n\n\n\nsuite\n\n\n\n\n٣)\na\n\n\n\n\n✓\nb (\n",
		want: Statuses{"suite: a": Failed, "suite: b": Passed},
	},
	{
		name: "no file", parser: "next", version: "1.27",
		log:  "Running: a.js (1 of 1)\n\n\n  suite",
		want: Statuses{},
	},
}

func TestJavaScriptParsersReadOddLogsAsTheReferenceDoes(t *testing.T) {
	for _, c := range javaScriptCases {
		t.Run(c.parser+"/"+c.name, func(t *testing.T) {
			row := Row{InstanceID: c.id, Version: c.version}
			got, _, err := Parse("parse_log_"+c.parser, c.log, row, c.rules)
			if c.fails {
				if err == nil {
					t.Errorf("got %v, want an error", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("statuses (-want +got):\n%s", d)
			}
		})
	}
}
