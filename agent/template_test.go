package agent

import (
	"strings"
	"testing"

	"batch.example/batch/fault"
)

// longObservation has the structure of mini-swe-agent's benchmark configuration.
const longObservation = `{% if output.exception_info -%}
<exception>{{output.exception_info}}</exception>
{% endif -%}
<returncode>{{output.returncode}}</returncode>
{% if output.output | length < 10000 -%}
<output>
{{ output.output -}}
</output>
{%- else -%}
<warning>
Too much.
</warning>
{%- set elided_chars = output.output | length - 10000 -%}
<output_head>
{{ output.output[:5000] }}
</output_head>
<elided_chars>
{{ elided_chars }} characters elided
</elided_chars>
<output_tail>
{{ output.output[-5000:] }}
</output_tail>
{%- endif -%}
`

const formatTemplate = `{% if finish_reason is defined and (finish_reason == "length" or (finish_reason == "tool_calls" and not has_tool_calls)) -%}
cut off ({{ finish_reason }})
{%- else -%}
error: {{error}} {{ actions | length }}
{%- endif %}
`

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
			got, err := RenderTemplate("observation_template", longObservation, map[string]any{"output": map[string]any{
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
		{"the token limit is told by its finish reason", formatTemplate, "cut off (length)"},
		{"json is ASCII and safe in HTML", "{{ odd | tojson }}", `"\u00e9\ud83d\ude00\u003ca\u0027\"\n"`},
		{"json of the first character that is not ASCII", "{{ '\u0080\u007f' | tojson }}", "\"\\u0080\u007f\""},
		{"json of what is no text is no text", "{{ n | tojson }} {{ has_tool_calls | tojson }} {{ actions | tojson }}", "240 false []"},
		{"lower-case none is known", "{% if nothing is none %}none{% endif %}{% if none %}x{% endif %}", "none"},
		{"arithmetic of limits", "{% if step_limit > 0 and step_limit - n < 20 -%}{{ step_limit - n }}{% endif %} {{ ((600 - 30) / 60) | int }}", "10 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := RenderTemplate("x", c.source, map[string]any{
				"odd": "é😀<a'\"\n", "nothing": nil, "step_limit": 250, "n": 240,
				"finish_reason": "length", "has_tool_calls": false, "error": "e", "actions": []string{},
			})
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	t.Run("a syntax error names the template and the line, not the whole text", func(t *testing.T) {
		_, err := NewLoop(Config{SystemTemplate: "first line\n{% if x %}", InstanceTemplate: "i"})
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "system_template") ||
			!strings.Contains(err.Error(), "Line: 2") || strings.Contains(err.Error(), "first line") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("what does not parse is not rendered", func(t *testing.T) {
		if got, err := RenderTemplate("x", "{% if y %}", nil); fault.KindOf(err) != fault.Usage || got != "" || !strings.Contains(err.Error(), "parsing x") {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("a source that makes the engine panic is an error", func(t *testing.T) {
		if err := CheckTemplate("x", "{{ endraw is "); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "parsing x") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an expression that makes the engine panic is an error", func(t *testing.T) {
		if got, err := RenderTemplate("x", "{{ 1 % 0 }}", nil); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
