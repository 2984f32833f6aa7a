//go:build !race

package logparse

import (
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/tier"
)

// hostileLogs make an implementation slow that searches the rest of the log, or of a line,
// again at every place where a name could start.
var hostileLogs = []struct{ parser, version, head, repeated, tail string }{
	{"p5js", "", "", "<a>", ""},
	{"p5js", "", "", "<a>", strings.Repeat("</a>", 1<<16)},
	{"p5js", "", "", "<a></a>", ""},
	{"p5js", "", strings.Repeat("<b>", 1<<16), "<</a></<a></a>b>", ""},
	{"p5js", "", "<" + strings.Repeat("a", 1<<18), "<b></<c></c>b>", ""},
	{"p5js", "", "", "<aaaaaaaaaaaaaaaa", ""},
	{"p5js", "", "", "1)\n", ""},
	{"p5js", "", "", "{\n", ""},
	{"p5js", "", "", "\x1b[0;", ""},
	{"prismjs", "", prismCommand, `{"a":`, ""},
	{"prismjs", "", prismCommand + `{"a":`, "[", "}"},
	{"prismjs", "", prismCommand + `{"failures":[],"passes":[`, `{"fullTitle":"a"},`, `{"fullTitle":"b"}]}`},
	{"prismjs", "", "", prismCommand, ""},
	{"calypso", "", " ./node_modules/.bin/jest ", "  a\n   b\n", ""},
	{"calypso", "", " ./node_modules/.bin/jest \n  " + strings.Repeat("a", 1<<18) + "\n", "   b\n", ""},
	{"calypso", "", " ./node_modules/.bin/jest \n  " + strings.Repeat("a", 1<<18) + "\n", "   ✓ b\n", ""},
	{"karma", "", "Starting browser\n  " + strings.Repeat("a", 1<<18) + "\n", "   b\n  c\n", ""},
	{"karma", "", "Starting browser\n  " + strings.Repeat("a", 1<<18) + "\n", "   ✔ b\n", ""},
	{"highlightjs", "", "  " + strings.Repeat("a", 1<<18) + "\n", "✓ b\n", ""},
	{"highlightjs", "", "  a\n✓ ", "(1ms", ""},
	{"lighthouse", "9.5", "", "running 1 test ", ""},
	{"lighthouse", "9.5", "running 1 test files\n✔ ", " (1m", ""},
	{"lighthouse", "1.0", "./node_modules/.bin/mocha --reporter json", `"fullTitle": "`, "\n"},
	{"carbon", "", "PASS ", " (1ms ", ""},
	{"grommet", "", "", "PASS\n", ""},
	{"chart_js", "", "", "Chrome 1 (", " FAILED"},
	{"chart_js", "", "", "Chrome 1 ()", " FAILED"},
	{"bpmn_js", "", "", "Chrome Headless ", "FAILED\n"},
	{"bpmn_js", "", "Chrome Headless ", "x (Linux x86_64) ", "\n"},
	{"bpmn_js", "", "", "Chrome Headless (Linux x86_64) ", "\n"},
	{"openlayers", "", "", "Chrome 1 (Linux x) ", "\n"},
	{"openlayers", "", "", "\n  1)", ""},
	{"openlayers", "", "case ", ":", ""},
	{"eslint", "", "", "  1)\n", " Error"},
	{"eslint", "", "", "  1) Error", ""},
	{"next", "", " xvfb-run ", "AssertionError: #", ""},
	{"next", "1.27", "", "Running:", ")\n\n\n  x"},
	{"next", "1.27", "", "Running:)\n\n\n  x\n", ""},
	{"quarto_cli", "", "[smoke]", "/tmp/a", ""},
	{"quarto_cli", "", "[smoke]", "/tmp/a/", ""},
}

const prismCommand = "./node_modules/.bin/mocha tests/run.js --reporter json"

func TestJavaScriptParsersAreLinearInHostileLogs(t *testing.T) {
	tier.Rest(t)
	const (
		size  = 1 << 20
		limit = 5 * time.Second // quadratic ones need minutes
	)
	for _, h := range hostileLogs {
		log := h.head + strings.Repeat(h.repeated, size/len(h.repeated)) + h.tail
		start := time.Now()
		names, _, err := Parse("parse_log_"+h.parser, log, Row{Version: h.version}, V5)
		if took := time.Since(start); took > limit {
			t.Errorf("%s: %d bytes of %.30q took %v (%d names, error %v)", h.parser, len(log), h.repeated, took, len(names), err)
		}
	}
}
