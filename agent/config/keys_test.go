package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each exported field of a configuration has exactly one key.
func TestEveryFieldHasAKey(t *testing.T) {
	c, s, e := new(Config), new(MCPServer), new(Engine)
	keys := map[any]int{} // by pointer to the field
	for _, k := range slices.Concat(c.keys(), s.keys(""), e.keys("")) {
		keys[k.field.to]++
	}
	for _, section := range []any{&c.Agent, &c.Environment, &c.Model, &c.Run, s, e} {
		fields := reflect.ValueOf(section).Elem()
		for i := range fields.NumField() {
			if f := fields.Type().Field(i); f.IsExported() && keys[fields.Field(i).Addr().Interface()] != 1 {
				t.Errorf("%T.%s has %d keys, want 1", section, f.Name, keys[fields.Field(i).Addr().Interface()])
			}
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	for _, k := range Keys() {
		if k.Doc == "" || k.Default == "" || !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: default %q, doc %q; want some doc, some default, doc ending in %q",
				k.Path, k.Default, k.Doc, ".")
		}
		if len(k.Allowed) > 0 && !slices.Contains(k.Allowed, k.Default) && k.Path != "model.set_cache_control" {
			t.Errorf("%s: the default %s is not allowed", k.Path, k.Default)
		}
	}
}

func TestNearestKey(t *testing.T) {
	for path, want := range map[string]string{
		"step_limit":         "agent.step_limit",
		"step_limt":          "agent.step_limit",
		"agent.step_limt":    "agent.step_limit",
		"agnet.step_limit":   "agent.step_limit",
		"model.step_limit":   "agent.step_limit",
		"temperature":        "",
		"model":              "model",
		"environment.enviro": "environment.env",
		"network":            "environment.network",
		"agent.cost-limit":   "agent.cost_limit",
		"model.name":         "",
		"env":                "environment.env",
	} {
		if got := nearest(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestSourcesOfValues(t *testing.T) {
	file := write(t, "f.yaml", "agent: {step_limit: 5}\nmodel:\n  model_kwargs: {seed: 1, top_p: 1}\n")
	c, err := Load([]string{file, "environment.env.PAGER=null", "tools", "model.model_kwargs.seed=2"}, Options{Set: []Setting{
		{Path: "environment.memory", Value: "3g", Flag: "--memory"},
		{Path: "model.cost_tracking", Value: "ignore_errors", Variable: "MSWEA_COST_TRACKING"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"agent.step_limit":          "5 " + file + ":1",
		"agent.cost_limit":          "3 built-in default",
		"environment.env.PAGER":     " -c on the command line",
		"environment.env.LESS":      "-R built-in default",
		"environment.memory":        "3g --memory",
		"environment.shell":         " default",
		"model.cost_tracking":       "ignore_errors environment variable MSWEA_COST_TRACKING",
		"model.action_form":         "tools built-in tools",
		"model.model_kwargs.seed":   "2 -c on the command line",
		"model.model_kwargs.top_p":  "1 " + file + ":3",
		"environment.environment_x": "",
	}
	for _, v := range c.Values() {
		if w, ok := want[v.Path]; ok && v.Text()+" "+v.Source != w {
			t.Errorf("%s: %s %s, want %s", v.Path, v.Text(), v.Source, w)
		}
		delete(want, v.Path)
	}
	if len(want) != 1 {
		t.Errorf("not listed: %v, want 1 want", want)
	}
}
