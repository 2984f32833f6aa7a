package template

import (
	"fmt"
	"os"
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
		{"every tag has the outer variables", "{% block a %}{% if n %}{{ n }}{% endif %}{% endblock %}{% with x = 1 %}{% if n %}{{ n + x }}{% endif %}{% endwith %}{% autoescape false %}{% if n %}{{ n }}{% endif %}{% endautoescape %}{% set y %}{% if n %}{{ n }}{% endif %}{% endset %}{{ y }}{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}{% if n %}{{ n }}{% endif %}{% endcall %}", "240241240240240"},
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

// Each error is reported at the position of the X, which is cut out before parsing.
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
		"{% Xform n %}{% endif %}":                  `unknown tag {% form %}; did you mean for?`,
		"{% Xtrans %}a{% endtrans %}":               "unknown tag {% trans %}",
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
		"{% macro f() %}{{ Xf() }}{% endmacro %}{{ f() }}":                                                              "a macro or a loop calls itself more than 1000 levels deep",
		"{% macro f() %}{% if yes %}a{{ g() }}{% endif %}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ g() }}": "",
		"{% macro f() %}{% filter upper %}{{ f() }}{% endfilter %}{% endmacro %}{{ f() }}":                              "",
		"{% macro f() %}{{ caller is defined }}{% call Xf() %}{% endcall %}{% endmacro %}{{ f() }}":                     "a macro or a loop calls",
		"{% filter upper %}{% for x in list recursive %}{{ loop(list) }}{% endfor %}{% endfilter %}":                    "",
		"{% macro f() %}{{ f() | default('') }}{{ taks }}{% endmacro %}{{ f() }}":                                       "",
		"X{% include 'x' ignore missing %}":                                                                             `{% include %} has no other template to read`,
		"X{% include 'x' %}":                                                                                            `{% include %} has no other template to read`,
		"{{ 1 X% 0 }}":                                                                                                  `division by zero`,
		"{{ task.Xfoo() }}":                                                                                             `there is no method "foo"`,
		"{{ endraw is X":                                                                                                "",
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

// Each is refused; the X is where the error is.
func TestLimitsAndWhatIsNotSupported(t *testing.T) {
	for source, want := range map[string]string{
		"{{ 'x' X* 99999999 }}":         "the result has more than 67108864 bytes",
		"{{ [1] X* 99999999 }}":         "the result has more than",
		"{{ 'x'.Xljust(99999999) }}":    "the result has more than",
		"{{ range(99999999) | Xlist }}": `filter "list": the result has more than`,
		"{% for x in range(99999) %}{% for y in Xrange(99999) %}{% endfor %}{% endfor %}": "the loops have more than 1000000 rounds",
		"{% for x in range(99999) %}{% set y = range(99999) | Xlist %}{% endfor %}":       `filter "list": the template builds more than 67108864 bytes`,
		"{% set l = [] %}{% set _ = l.append(l) %}{{ Xl }}":                               "a value has more than 200 levels",
		"{% set l = [] %}{% set _ = l.append(l) %}{{ l | Xtojson }}":                      `filter "tojson": the JSON is too large, or a value contains itself`,
		"{{ 9223372036854775807 X+ 1 }}":                                                  "the result needs more than 64 bits",
		"{{ 10 X** 20 }}":                                                                 "the result needs more than 64 bits",
		"{{ X9223372036854775808 }}":                                                      "the number 9223372036854775808 needs more than 64 bits",
		"{{ Xlipsum() }}":                                                                 "the function lipsum is not supported",
		"{% if 0 %}{{ Xself.a() }}{% endif %}":                                            "the function self is not supported",
		"{% autoescape Xtrue %}{% endautoescape %}":                                       "{% autoescape %} is supported only as {% autoescape false %}",
		"X{% extends 'a' %}":                                                              "{% extends %} has no other template to read",
		"{% Xdo l.append(1) %}":                                                           "unknown tag {% do %}; it belongs to an extension of Jinja2",
		"{% for x in l %}{% Xbreak %}{% endfor %}":                                        "unknown tag {% break %}; it belongs to an extension of Jinja2",
		"{% block a Xrequired %}{% endblock %}":                                           "a required block needs another template",
		"\r\n\r\n{{ n }}\r{{ Xm }}":                                                       `unknown variable "m"`,
		"{% set n.Xm = 1 %}":                                                              "only members of a namespace can be set",
		"{% set Xa, b = 1, 2, 3 %}":                                                       "expected 2 values, found 3",
		"{{ 'abc'.Xindex('d') }}":                                                         `"d" is not in the text`,
		"{{ 'a' X+ 1 }}":                                                                  "+ is not possible with text and a number",
		"{{ 1 X< 'a' }}":                                                                  "< is not possible with a number and text",
		"{{ n | Xjoin }}":                                                                 `filter "join": a number has no items to go through`,
		"{{ n | Xtruncate(length=3) }}":                                                   `filter "truncate": a number has no length`,
		"{{ 'a' | Xindent(size=3) }}":                                                     `filter "indent": there is no argument "size"`,
		"{{ 'a' | Xreplace('b') }}":                                                       `filter "replace": the argument "new" is missing`,
		"{{ '%d' X% 'a' }}":                                                               "%d needs a number, found text",
		"{{ " + strings.Repeat("(", maxDepth) + "1" + strings.Repeat(")", maxDepth) + " }}X": "",
	} {
		t.Run(source[:min(len(source), 60)], func(t *testing.T) {
			p, err := Parse("x", strings.Replace(source, "X", "", 1), func(offset int) string { return fmt.Sprint("at ", offset) })
			if err == nil {
				err = p.Check(map[string]any{"n": 1, "l": []int{1}})
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

func FuzzMistakes(f *testing.F) {
	for _, source := range []string{"{{ a | b }}", "{% if x %}{{ y.z[1:2] }}{% endif %}", "{% for a in b %}{% endif %}", "{{ endraw is ", "{{ 1 % 0 }}", "{% set x %}{{ y }}{% endset %}", "{# {{", "{{ 'é\r\n", "{{ ('%5.1f|%r' % (x, b))|indent(2) ~ b[::-1] }}", "{{ '{:>5}{0!r}'.format(x) }}", "{% for i in range(9) %}{% for j in range(9) %}{% endfor %}{% endfor %}", "{{ [b, {x: b}]|map('first')|groupby(0)|tojson(1) }}", "{{ b.append(b) }}{{ b }}", "{{ 'x' * 99999999 * x }}", "{% call(i) m(*b, **{}) %}{% endcall %}", "{% with a, b = b %}{% filter replace(1, 2) %}{% endfilter %}"} {
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
	tmpl, err := Parse("t", "{{ range }} {% for x in dict(a=1) %}{{ x }}{% endfor %}", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := tmpl.Render(map[string]any{"range": "5 to 7"}); err != nil || text != "5 to 7 a" {
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
