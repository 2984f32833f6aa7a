package logparse

// A parser adds its results in log to out. Its error describes the reference's exception, in words
// that continue "reading the test log with parse_log_x: ".
type parser func(log string, in input, out *results) error

// input has what a parser may use beside the log.
type input struct {
	row   Row
	rules Rules
}

// parsers has every parser by its registered name.
var parsers = map[string]parser{
	"parse_log_pytest":      eachLine(pytest),
	"parse_log_astroid":     eachLine(pytest),
	"parse_log_flask":       eachLine(pytest),
	"parse_log_marshmallow": eachLine(pytest),
	"parse_log_pvlib":       eachLine(pytest),
	"parse_log_pyvista":     eachLine(pytest),
	"parse_log_sqlfluff":    eachLine(pytest),
	"parse_log_xarray":      eachLine(pytest),

	"parse_log_pytest_options": eachLine(pytestOptions),
	"parse_log_pydicom":        eachLine(pytestOptions),
	"parse_log_requests":       eachLine(pytestOptions),
	"parse_log_pylint":         eachLine(pytestOptions),

	"parse_log_pytest_v2": eachLine(pytestV2),
	"parse_log_astropy":   eachLine(pytestV2),
	"parse_log_scikit":    eachLine(pytestV2),
	"parse_log_sphinx":    eachLine(pytestV2),

	"parse_log_matplotlib": eachLine(matplotlib),
	"parse_log_seaborn":    seaborn,
	"parse_log_django":     django,
	"parse_log_sympy":      sympy,

	"parse_log_redis":            eachStripped(redis),
	"parse_log_jq":               eachStripped(jq),
	"parse_log_doctest":          doctest,
	"parse_log_micropython_test": eachStripped(micropython),
	"parse_log_googletest":       eachStripped(googletest),

	"parse_log_gotest": eachStripped(gotest),
	"parse_log_cargo":  eachStripped(cargo),

	"parse_log_maven":         maven,
	"parse_log_ant":           eachStripped(ant),
	"parse_log_gradle_custom": gradle,

	"parse_log_phpunit": phpunit,

	"parse_log_minitest":               eachStripped(minitest),
	"parse_log_cucumber":               eachStripped(cucumber),
	"parse_log_ruby_unit":              eachStripped(rubyUnit),
	"parse_log_rspec_transformed_json": eachStripped(rspec),
	"parse_log_jekyll":                 jekyll,

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

// eachLine makes a parser from a function that handles one line.
func eachLine(line func(line string, in input, out *results)) parser {
	return func(log string, in input, out *results) error {
		for l := range lines(log) {
			line(l, in, out)
		}
		return nil
	}
}

// eachStripped is eachLine with lines that are trimmed on both sides.
func eachStripped(line func(line string, out *results)) parser {
	return func(log string, _ input, out *results) error {
		for l := range lines(log) {
			line(strip(l), out)
		}
		return nil
	}
}
