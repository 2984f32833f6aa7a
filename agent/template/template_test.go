package template

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"batch.example/batch/fault"
)

// Templates with the structure of mini-swe-agent's benchmark configuration.
var (
	longObservation = mustRead("testdata/observation.jinja")
	formatTemplate  = mustRead("testdata/format_error.jinja")
)

func mustRead(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestObservationGoldens(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	elided := func(n, left string) string {
		return "<returncode>0</returncode>\n<warning>\nToo much.\n</warning><output_head>\n" + long(5000) +
			"\n</output_head>\n<elided_chars>\n" + n + " characters elided\n</elided_chars>\n<output_tail>\n" + long(5000) + "\n</output_tail>" + left
	}
	for _, c := range []struct {
		name, output, exception string
		code                    int
		want                    string
	}{
		{"a short output stands as it is", "hi\n", "", 0, "<returncode>0</returncode>\n<output>\nhi\n</output>"},
		{"an empty output", "", "", 1, "<returncode>1</returncode>\n<output>\n</output>"},
		{"an exception comes first", "part", "EXC", -1, "<exception>EXC</exception>\n<returncode>-1</returncode>\n<output>\npart</output>"},
		{"9999 code points are whole", long(9999), "", 0, "<returncode>0</returncode>\n<output>\n" + long(9999) + "</output>"},
		{"10000 code points are split with nothing left out", long(10000), "", 0, elided("0", "")},
		{"11000 code points lose 1000", long(11000), "", 0, elided("1000", "")},
		{"carriage returns and markup stay", "a\r\n<b>&'\"{{ x }}", "", 0, "<returncode>0</returncode>\n<output>\na\r\n<b>&'\"{{ x }}</output>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := render("observation_template", longObservation, map[string]any{"output": map[string]any{
				"output": c.output, "returncode": c.code, "exception_info": c.exception,
			}})
			if err != nil || got != c.want {
				t.Errorf("got %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"one final newline is dropped", "a\n\n", "a\n"},
		{"the token limit is known by its finish reason", formatTemplate, "cut off (length)"},
		{"json is ASCII and safe in HTML", "{{ odd | tojson }}", `"\u00e9\ud83d\ude00\u003ca\u0027\"\n"`},
		{"json of the first character that is not ASCII", "{{ '\u0080\u007f' | tojson }}", `"\u0080\u007f"`},
		{"json of numbers and lists", "{{ n | tojson }} {{ has_tool_calls | tojson }} {{ actions | tojson }}", "240 false []"},
		{"a macro calls itself", "{% macro f(n) %}{{ n }}{% if n > 1 %} {{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3 2 1"},
		{"a macro calls itself often", "{% macro f(n) %}{% if n > 1 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(n) }}{{ f(n) }}{{ f(n) }}", ""},
		{"every tag has the outer variables", "{% for i in [1] %}{% if n %}{{ n + i }}{% endif %}{% endfor %}{% set y %}{% if n %}{{ n }}{% endif %}{% endset %}{{ y }}{% macro f() %}{% if n %}{{ n }}{% endif %}{% endmacro %}{{ f() }}", "241240240"},
		{"lower-case none is known", "{% if nothing is none %}none{% endif %}{% if none %}x{% endif %}", "none"},
		{"arithmetic of limits", "{% if step_limit > 0 and step_limit - n < 20 -%}{{ step_limit - n }}{% endif %} {{ ((600 - 30) / 60) | int }}", "10 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := render("x", c.source, map[string]any{
				"odd": "é😀<a'\"\n", "nothing": nil, "step_limit": 250, "n": 240,
				"finish_reason": "length", "has_tool_calls": false, "error": "e", "actions": []string{},
			})
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func render(name, source string, vars map[string]any) (string, error) {
	t, err := Parse(name, source, nil)
	if err != nil {
		return "", err
	}
	return t.Render(vars)
}

// Each error is at the position of the X, which is removed before parsing.
func TestTemplateErrorPositions(t *testing.T) {
	vars := map[string]any{"task": "t", "yes": true, "no": false, "n": 5, "list": []any{1, 2}, "output": map[string]any{"output": "o", "returncode": 0}}
	for source, want := range map[string]string{
		"Fix {{ Xtaks }}":                                                 `unknown variable "taks"; did you mean task?`,
		"Fix {{ Xnothing }}":                                              `unknown variable "nothing"; available variables: list, n, no, output, task, yes`,
		"é {{ task }}\n  {{ Xtaks }}":                                     `unknown variable "taks"`,
		"{{ taks if no else task }}{{ task }}{{ Xtaks }}":                 `unknown variable "taks"`,
		"{% if no %}{{ taks }}{% endif %} {{ Xtaks }}":                    `unknown variable "taks"`,
		"{% if yes %}{{ task }}\n{{ Xtaks }}{% endif %}":                  `unknown variable "taks"`,
		"{% if no %}{% elif Xtaks %}{% endif %}":                          `unknown variable "taks"`,
		"{% if taks is defined %}{% endif %}{% if Xtaks %}{% endif %}":    `unknown variable "taks"`,
		"{% for x in list %}{% for y in Xtaks %}{% endfor %}{% endfor %}": `unknown variable "taks"`,
		"{% for x in list %}{{ x }}{{ Xtaks }}{% endfor %}":               `unknown variable "taks"`,
		"{{ taks }}": "",
		"{{ task }} {% set y = n + Xtaks %}{{ y }}": `unknown variable "taks"`,
		"{% set y %}{{ Xtaks }}{% endset %}{{ y }}": `unknown variable "taks"`,
		"{{ task | replace('a', Xtaks) }}":          `unknown variable "taks"`,
		"{{ Xtaks | upper }}":                       `unknown variable "taks"`,
		"{{ taks | default('') }}{{ list[Xtaks] }}": `unknown variable "taks"`,
		"{{ output.Xretcode }}":                     `output has no "retcode"; output has: output, returncode`,
		"{{ output[X'retcode'] }}":                  `output has no "retcode"`,
		"{{ list[X7] }}":                            `list[7] is not there: list has 2 items`,
		"{{ n.Xfoo }}":                              `n has no "foo": it is a number`,
		"{{ task | Xuper }}":                        `unknown filter "uper"; did you mean upper?`,
		"{% if n is Xoddd %}{% endif %}":            `unknown test "oddd"; did you mean odd?`,
		"{% if n is not Xod %}{% endif %}":          `unknown test "od"`,
		"{% Xform n %}{% endif %}":                  `unknown tag "form"; did you mean for?`,
		"{% Xtrans %}a{% endtrans %}":               `unknown tag "trans"; there are: for, if, macro, raw, set`,
		"a\nX{% if n %}\n{{ task }}":                `{% if %} is not closed: {% endif %} is missing`,
		"{% if n %}X{% for x in list %}{% endif %}": "",
		"{% for x in list %}{{ x }}{% Xendif %}":    `{% endif %} found, expected {% endfor %}`,
		"{{ n }}{% Xendif %}":                       `{% endif %} without an open {% if %}`,
		"{{ n }}{% Xelse %}":                        `{% else %} without an open {% if %}`,
		"{% if n Xm %}{% endif %}":                  `unexpected "m" in {% if %}`,
		"{% if X%}{% endif %}":                      `{% if %} is not complete`,
		"{{ n Xm }}":                                `expected "}}", found "m"`,
		"{{ X}}":                                    `expected a value, found "}}"`,
		"{{ n + X}}":                                `expected a value, found "}}"`,
		"{{ X(n }}":                                 "",
		"{{ task. X}}":                              `expected a name, found "}}"`,
		"{{ n | X}}":                                `expected the name of a filter, found "}}"`,
		"{{ nX":                                     "",
		"a {# bX":                                   "",
		"{{ n X}":                                   `unexpected "}"`,
		"{{ (n X] }}":                               `expected ")", found "]"`,
		"{{ 'aX":                                    "",
		"{% raw %}X":                                "",
		"{{ n X! }}":                                "",
		"{% macro f() %}{{ Xtaks }}{% endmacro %}{{ f() }}":                                                             `unknown variable "taks"`,
		"{% macro f() %}{{ Xf() }}{% endmacro %}{{ f() }}":                                                              "a macro calls itself more than 1000 levels deep",
		"{% macro f() %}{% if yes %}a{{ g() }}{% endif %}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ g() }}": "",
		"{% macro f() %}{{ f() | default('') }}{{ taks }}{% endmacro %}{{ f() }}":                                       "",
		"{{ Xf() }}{% macro f() %}{% endmacro %}":                                                                       `unknown macro or function "f"; there are: range`,
		"{% macro f() %}{% endmacro %}{{ Xg() }}":                                                                       `unknown macro or function "g"; there are: f, range`,
		"{{ n X% 0 }}":       `division by zero`,
		"{{ task.Xfoo() }}":  `unknown method "foo"; there are: endswith, get, items, join`,
		"{{ task.Xsplt() }}": `unknown method "splt"; did you mean split?`,
		"{{ Xtask() }}":      `unknown macro or function "task"; there are: range`,
		"{{ Xn + 'a' }}":     "",
		"{{ endraw is X":     "",
	} {
		t.Run(source, func(t *testing.T) {
			_, err := render("x", strings.Replace(source, "X", "", 1), vars)
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("error %v, want a Usage fault", err)
			}
			at := strings.Index(source, "X")
			if at < 0 {
				at = 0
			}
			before := source[:at]
			where := fmt.Sprintf("x:%d:%d: ", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]))
			got := err.Error() + "; " + fault.HintOf(err)
			t.Log(got)
			if want != "" && !strings.HasPrefix(got, where+want) {
				t.Errorf("%s\nwant %s%s", got, where, want)
			}
		})
	}
}

// Each template is refused; the X marks the place of the error.
func TestLimitsAndWhatIsNotSupported(t *testing.T) {
	for source, want := range map[string]string{
		"{{ 'x' X* 99999999 }}":         "the result has more than 67108864 bytes",
		"{{ 'x' | Xindent(99999999) }}": `indent: the result has more than`,
		"{{ Xrange(99999999) | list }}": `range: the result has more than`,
		"{% for x in range(99999) %}{% for y in Xrange(99999) %}{% endfor %}{% endfor %}": "range: the template loops too often, or builds more than",
		"{% for x in range(999) %}{% set y = t | Xindent(99999, true) %}{% endfor %}":     `indent: the template loops too often, or builds more than 67108864 bytes`,
		"{{ X-t }}":                      "- is not possible with text and a number",
		"{{ (1e308 * 10) | Xtojson }}":   "tojson: this cannot be written as JSON",
		"{{ 9223372036854775807 X+ 1 }}": "a whole number needs more than 64 bits",
		"{{ X9223372036854775808 }}":     "the number 9223372036854775808 needs more than 64 bits",
		"{{ 'nan' | Xfloat }}":           "float: a number is NaN",
		"{{ '٣' | Xint }}":               "int: a number has blanks or digits beyond ASCII",
		"{{ 'ß' | Xupper }}":             "upper: the letter 'ß' cannot change its case here",
		"\r\n\r\n{{ n }}\r{{ Xm }}":      `unknown variable "m"`,
		"{% set a, b = X[1, 2, 3] %}":    "expected 2 values, found 3",
		"{{ 'a' X+ 1 }}":                 "+ is not possible with text and a number",
		"{{ 1 X< 'a' }}":                 "< is not possible with a number and text",
		"{{ n | Xjoin }}":                `join: a number has no items to go through`,
		"{{ n | Xtruncate(length=3) }}":  `truncate: expected text, found a number`,
		"{{ n | tojson X+ '<' }}":        "+ is not possible with JSON and text",
		"{{ n.Xupper }}":                 `n has no "upper": it is a number`,
		"{{ [d][0].Xpop }}":              `the attribute "pop" of Python's dicts is not supported`,
		"{{ Xrange }}":                   "the function range is not supported as a value",
		"{{ d Xis divisibleby 2 }}":      "",
		"{{ " + strings.Repeat("(", maxDepth) + "1" + strings.Repeat(")", maxDepth) + " }}X": "",
	} {
		t.Run(source[:min(len(source), 60)], func(t *testing.T) {
			p, err := Parse("x", strings.Replace(source, "X", "", 1), func(offset int) string { return fmt.Sprint("at ", offset) })
			if err == nil {
				err = p.Check(map[string]any{"n": 1, "l": []int{1}, "t": "a", "d": map[string]any{"pop": 1}})
			}
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("error %v, want a Usage fault", err)
			}
			got := err.Error() + "; " + fault.HintOf(err)
			if where := fmt.Sprintf("x, at %d: ", strings.Index(source, "X")); want != "" && !strings.HasPrefix(got, where+want) {
				t.Errorf("%s\nwant %s%s", got, where, want)
			}
		})
	}
}

// Mistakes that the template's text shows are refused when it is parsed, even in a branch that never runs.
// The X marks the place of the error.
func TestWhatIsRefusedAtLoad(t *testing.T) {
	for source, want := range map[string]string{
		"{{ n | Xurlize }}":                                   `unknown filter "urlize"; there are: count, d, default, first, float, indent, int, join,`,
		"{{ n | Xlengthh }}":                                  `unknown filter "lengthh"; did you mean length?`,
		"{{ n | Xmap('upper') }}":                             `unknown filter "map"`,
		"{{ n is Xcallable }}":                                `unknown test "callable"; there are: boolean, defined, even, false,`,
		"{{ n is Xdefine }}":                                  `unknown test "define"; did you mean defined?`,
		"{{ '{}'.Xformat(n) }}":                               `unknown method "format"`,
		"{{ l.Xappend(1) }}":                                  `unknown method "append"`,
		"{{ Xlipsum() }}":                                     `unknown macro or function "lipsum"; there are: range`,
		"{% set ns = Xnamespace(a=1) %}":                      `unknown macro or function "namespace"; there are: range`,
		"{% set Xn.m = 1 %}":                                  "only a name can be set: namespaces are not supported",
		"{{ Xself.a }}":                                       "self is not supported",
		"{% Xdo l %}":                                         `unknown tag "do"; there are: for, if, macro, raw, set`,
		"{% Xbreak %}":                                        `unknown tag "break"; there are: for, if, macro, raw, set`,
		"{% Xblock a %}{% endblock %}":                        `unknown tag "block"; there are: for, if, macro, raw, set`,
		"{% Xcall f() %}{% endcall %}":                        `unknown tag "call"; there are: for, if, macro, raw, set`,
		"{% Xfilter upper %}{% endfilter %}":                  `unknown tag "filter"; there are: for, if, macro, raw, set`,
		"{% Xinclude 'x' %}":                                  `unknown tag "include"; there are: for, if, macro, raw, set`,
		"{% Xextends 'a' %}":                                  `unknown tag "extends"; there are: for, if, macro, raw, set`,
		"{{ '%d' X% 5 }}":                                     "% with text is not supported: join texts with ~",
		"{{ n X** 2 }}":                                       "** is not supported: use *",
		"{{ 1 X/ 0 }}":                                        "division by zero",
		"{{ {X[1]: n} }}":                                     "a list cannot be a key",
		"{{ {X(1, n): 2} }}":                                  "a key must be a text or a number",
		"{{ n | replaceX('b') }}":                             `replace: the argument "new" is missing`,
		"{{ n | indent(Xsize=3) }}":                           `unknown argument of indent "size"; there are: blank, first, width`,
		"{{ n | upper(X1) }}":                                 "upper takes at most 0 arguments",
		"{{ n | join(d=1, Xd=2) }}":                           `the argument "d" is given twice`,
		"{{ n | join(d=1, X2) }}":                             "an argument without a name follows one with a name",
		"{{ n.split(X*l) }}":                                  "arguments with * are not supported",
		"{{ n is odd X2 }}":                                   `expected "}}", found "2"`,
		"{{ n | upperX() () }}":                               "",
		"{{ n['a']X() }}":                                     `expected "}}", found "("`,
		"{% for a in l Xrecursive %}{% endfor %}":             `unexpected "recursive" in {% for %}`,
		"{% for a in l %}{{ loop.Xindx }}{% endfor %}":        `unknown member of the loop "indx"; did you mean index?`,
		"{% for a in l %}{{ loop.Xcycle('a') }}{% endfor %}":  `unknown member of the loop "cycle"; there are: first, index, index0, last,`,
		"{% for a in l %}{% set o = Xloop %}{% endfor %}":     "only members of the loop can be used, such as loop.index",
		"{{ Xloop.index }}":                                   "loop is known only in a loop, and not in macros that it calls",
		"{% macro f() %}{{ Xcaller() }}{% endmacro %}":        "caller is not supported",
		"{% macro f() %}{{ Xvarargs }}{% endmacro %}":         "varargs is not supported",
		"{% if n %}X{% macro f() %}{% endmacro %}{% endif %}": "a macro within {% if %} is not supported: define it outside",
		"{% macro f() %}{% endmacro %}{{ Xf }}":               "the macro f can only be called",
		"{% set x X| upper %}a{% endset %}":                   `unexpected "|" in {% set %}`,
		"{% set Xtrue = 1 %}":                                 "nothing can be assigned to true",
		"{{ 1 < n X< 3 }}":                                    "chained comparisons are not supported: join two with and",
		"{{ n is odd Xif n else 1 }}":                         `unexpected "if" after a test: put the test in parentheses`,
		"{{ n.split(sXep=',') }}":                             "",
		"{{ n.split(Xsep=',') }}":                             `unknown argument of split "sep"`,
		"{{ n Xnot }}":                                        `expected "}}", found "not"`,
		"{% raw x %}X":                                        "",
		"{% macro f() %}{% endmacro %}{% set Xf = 1 %}":       "nothing can be assigned to f",
		"{{ Xé }}":                                            "",
	} {
		t.Run(source, func(t *testing.T) {
			_, err := Parse("x", strings.Replace(source, "X", "", 1), func(offset int) string { return fmt.Sprint("at ", offset) })
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("error %v, want a Usage fault", err)
			}
			got := err.Error() + "; " + fault.HintOf(err)
			if where := fmt.Sprintf("x, at %d: ", strings.Index(source, "X")); want != "" && !strings.HasPrefix(got, where+want) {
				t.Errorf("%s\nwant %s%s", got, where, want)
			}
		})
	}
}

func TestDictsKeepTheirOrder(t *testing.T) {
	tmpl, err := Parse("t", "{{ a }} {{ b }}", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tmpl.Render(map[string]any{"a": NewDict("z", 1, "a", []string{"x"}), "b": map[string]any{"z": 1.0, "a": nil}})
	if want := "{'z': 1, 'a': ['x']} {'a': None, 'z': 1.0}"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestTheMembersInAHintAreWrapped(t *testing.T) {
	members := map[string]any{}
	for i := range 9 {
		members[fmt.Sprintf("member_%d_of", i)] = i
	}
	_, err := render("x", "{{ box.member_0_off }}", map[string]any{"box": members})
	want := "did you mean member_0_of? box has: member_0_of, member_1_of, member_2_of,\n" +
		"  member_3_of, member_4_of, member_5_of, member_6_of, member_7_of,\n  member_8_of"
	if got := fault.HintOf(err); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// The page lists all names of the language.
func TestThePageHasEveryName(t *testing.T) {
	page, err := os.ReadFile("../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, names := range map[string][]string{
		"filter": slices.Collect(maps.Keys(filters())), "test": slices.Collect(maps.Keys(tests())), "method": slices.Collect(maps.Keys(methods())), "member of the loop": slices.Collect(maps.Keys(loopMembers)),
	} {
		for _, name := range names {
			if !regexp.MustCompile(`\b` + name + `\b`).Match(page) {
				t.Errorf("the %s %s is not in docs/templates.md", what, name)
			}
		}
	}
}

func FuzzMistakes(f *testing.F) {
	for _, source := range []string{"{{ a | b }}", "{% if x %}{{ y.z[1:2] }}{% endif %}", "{% for a in b %}{% endif %}", "{{ endraw is ", "{{ 1 % 0 }}", "{% set x %}{{ y }}{% endset %}", "{# {{", "{{ 'é\r\n", "{{ (x ~ 2.50)|indent(2) ~ b[::-1] }}", "{% for i in range(9) %}{% for j in range(9) %}{{ loop.last }}{% endfor %}{% endfor %}", "{{ [b, {x: b}]|sort|tojson(1) }}", "{{ 'x' * 99999999 * x }}", "{% macro m(a, b=a) %}{{ m(b=x) }}{% endmacro %}{{ m() }}", "{% set a, b = b %}{{ a.split('x')[0]|replace(1, 2) }}"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		place := func(offset int) string {
			if offset < 0 || offset > len(source) {
				t.Errorf("a mistake at %d of %d; want offset at least 0, offset at most %v", offset, len(source), len(source))
			}
			return "here"
		}
		p, err := Parse("x", source, place)
		if err == nil && len(source) < 100 {
			_, err = p.Render(map[string]any{"x": 1, "b": []any{1}})
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "x, here: ") || strings.Contains(err.Error(), "cannot be evaluated")) {
			t.Error(err)
		}
	})
}

func TestVariablesHideFunctions(t *testing.T) {
	text, err := render("t", "{{ range }} {{ dict }} {{ range(2) | join }}", map[string]any{"range": "5 to 7", "dict": 1})
	if err == nil {
		t.Errorf("got %q, want an error, as range is a text", text)
	}
	if text, err = render("t", "{{ range }} {{ dict }}", map[string]any{"range": "5 to 7", "dict": 1}); err != nil || text != "5 to 7 1" {
		t.Errorf("got %q, %v", text, err)
	}
}

// Templates are rendered at each step, and for each row before a run.
func TestRenderingCopiesNoVariables(t *testing.T) {
	tmpl, err := Parse("t", "{{ v7 }}", nil)
	if err != nil {
		t.Fatal(err)
	}
	allocations := func(n int) float64 {
		vars := map[string]any{}
		for i := range n {
			vars[fmt.Sprint("v", i)] = i
		}
		return testing.AllocsPerRun(50, func() { _, _ = tmpl.Render(vars) })
	}
	few, many := allocations(8), allocations(1000)
	if many > few {
		t.Errorf("%v allocations with 1000 variables, %v with 8", many, few)
	}
}
