package export

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results/trajectory"
)

func TestTheToolsThatWereOffered(t *testing.T) {
	var o Options
	for _, name := range []string{"bash", "editor", "ask"} {
		o.Tools = append(o.Tools, Tool{Function: Function{Name: name}})
	}
	for _, c := range []struct {
		form string
		ask  any
		want []string
	}{
		{"tools", nil, []string{"bash", "editor"}},
		{"tools", false, []string{"bash", "editor"}},
		{"tools", true, []string{"bash", "editor", "ask"}},
		{"toolcall", nil, []string{"bash"}},
		{"toolcall", true, []string{"bash", "ask"}},
		{"text", nil, nil},
		{"", nil, []string{"editor", "ask"}}, // the called ones
	} {
		a := &attempt{view: &trajectory.View{}, chats: [][]trajectory.Chat{{{Calls: []trajectory.ToolCall{{Name: "ask"}, {Name: "editor"}}}}}}
		a.view.Info.Config = map[string]any{"agent": map[string]any{"ask": c.ask}}
		if c.form != "" {
			a.view.Info.Config["model"] = map[string]any{"action_form": c.form}
		}
		var got []string
		for _, tool := range o.offered(a) {
			got = append(got, tool.Function.Name)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("form %q, ask %v (-want +got):\n%s", c.form, c.ask, d)
		}
	}
}
