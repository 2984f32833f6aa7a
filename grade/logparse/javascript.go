package logparse

// javascriptParsers are the parsers of JavaScript and TypeScript test runners, those of
// SWE-bench Multimodal among them.
var javascriptParsers = map[string]parser{
	"parse_log_bpmn_js":      bpmnJS,
	"parse_log_calypso":      calypso,
	"parse_log_carbon":       eachLine(passFail),
	"parse_log_chart_js":     chartJS,
	"parse_log_eslint":       eslint,
	"parse_log_grommet":      grommet,
	"parse_log_highlightjs":  highlightJS,
	"parse_log_immutable_js": immutableJS,
	"parse_log_jest":         eachLine(jest),
	"parse_log_jest_json":    eachStripped(jestJSON),
	"parse_log_karma":        karma,
	"parse_log_lighthouse":   lighthouse,
	"parse_log_marked":       eachLine(failedNumbered),
	"parse_log_next":         next,
	"parse_log_openlayers":   openLayers,
	"parse_log_p5js":         p5JS,
	"parse_log_prismjs":      prismJS,
	"parse_log_quarto_cli":   quarto,
	"parse_log_react_pdf":    eachLine(passFail),
	"parse_log_tap":          eachStripped(tap),
	"parse_log_vitest":       eachStripped(vitest),
}
